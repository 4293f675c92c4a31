/// The head on a cube of tensor ranks (parallel.tensor.mode: 3d). Other products are those of mode 1d.
///
/// The rank in column j and row l of layer i has of a value the tokens of the sequences of (i, l) and the
/// part j of their width; of a turned value (layout::Value::is_turned) the tokens of (i, j) and the part l.
/// Each product turns its input:
///
///     y(i, j; l) = sum over j of x(i; j) w(l, j)^T     x is gathered over l, y reduced and scattered over j
///     dx(i, l; j) = sum over l of dy(i; l) w(l, j)     dy is gathered over j, dx reduced and scattered over l
///     dw(l, j) = sum over i of dy(i; l)^T x(i; j)
///
/// and with j and l exchanged if x is turned. These are the conversions of expand_tensor.cpp. The layers i
/// are data ranks, whose shards are the parts of w: the gathers of parameters and the reductions of gradients
/// over the data axis are the collectives of a cube over i.
///
/// Source: Bian et al., "Maximizing Parallelism in Distributed Training for Huge Neural Networks", 2021,
/// section 3.2.
#include <utility>

#include "schedule/expand/expand_head.hpp"
#include "schedule/expand/expand_phases.hpp"

namespace ziggurat::schedule {

using layout::PhaseKind;

/// Writes the head: logits of all rows, the losses and, in training, backward.
///
/// Returns the gradient of the unit's input, or -1.
BufferId PhaseWriter::cube_head(UnitId unit, int phase, int microbatch) {
    auto& program = draft_.program;
    const auto& described = unit_of(unit).phases[phase];
    const auto& input = described.reads.front();
    const auto& output = described.writes.front();
    const auto& of_loss = unit_of(unit).phases[phase_of(unit_of(unit), PhaseKind::loss)].reads.front();
    const BufferId h = use_value(unit, input, microbatch, Direction::forward);
    const bool is_tiled = model_.tiling(unit).cuts(phase);
    if (is_tiled) {
        forward_tiles(unit, phase, microbatch);
    } else {
        const BufferId made = value_buffer(unit, output.value, output.wanted, microbatch, false);
        auto product = compute_op(unit, phase, microbatch, Direction::forward);
        product.reads.push_back(whole(program, h, Role::input));
        add_parameters(product, described);
        product.writes.push_back(whole(program, made, Role::output));
        add_workspace(product, workspace_bytes(described, Direction::forward));
        add(std::move(product));
        values_[{microbatch, unit, output.value}] = {made, output.wanted};
    }
    const BufferId summand = values_.at({microbatch, unit, output.value}).buffer;
    const BufferId logits = use_value(unit, of_loss, microbatch, Direction::forward);
    for (const BufferId buffer : {summand, logits}) {
        program.buffers[buffer].consumer = MemoryCategory::logits;
    }
    losses_of_logits(unit, microbatch, 0, model_.tokens, logits);
    if (program.variant != Variant::train) {
        return -1;
    }
    // Backward follows at once, so the gathered input is still there.
    converted_[{{microbatch, unit, input.value}, input.wanted, Direction::backward}] = h;
    gradients_[{microbatch, unit, output.value}] = {logits, of_loss.wanted};
    const bool defers = std::exchange(is_deferring_, false);  // as in the head of other modes
    if (is_tiled) {
        backward_tiles(unit, phase, microbatch);
    } else {
        backward_linear(unit, phase, microbatch);
    }
    is_deferring_ = defers;
    backward_from(unit, phase, microbatch);
    return d_input(unit, microbatch);
}

}  // namespace ziggurat::schedule
