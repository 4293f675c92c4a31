/// Phases with tiled weights: only one tile of a weight and of its gradient exists at a time.
///
/// Adapters of a tiled weight are small. They are used as a whole, by ops of their own that follow the tiles.
///
/// Source: Rajbhandari et al., "ZeRO-Infinity", 2021, section 5.1.3.
#include <string>
#include <vector>

#include "schedule/adds_bias.hpp"
#include "schedule/expand/expand_phases.hpp"

namespace ziggurat::schedule {

using layout::PhaseKind;

/// Computes y's columns of each tile: x w_tile^T + b_tile.
void PhaseWriter::forward_tiles(UnitId unit, int phase, int microbatch) {
    const auto& described = unit_of(unit).phases[phase];
    auto& program = draft_.program;
    const auto& input = described.reads.front();
    const auto& output = described.writes.front();
    const BufferId x = use_value(unit, input, microbatch, Direction::forward);
    const int y = value_buffer(unit, output.value, output.wanted, microbatch, is_kept(unit, output.value));
    values_[{microbatch, unit, output.value}] = {y, output.wanted};
    const bool has_bias = adds_bias(model_, unit, described);
    for (std::size_t t = 0; t < num_tiles(unit, phase); ++t) {
        auto op = compute_op(unit, phase, microbatch, Direction::forward, t);
        op.reads.push_back(whole(program, x, input.role));
        add_parameters(op, described,
                       has_bias ? std::vector{Role::weight, Role::bias} : std::vector{Role::weight});
        if (t > 0) {
            op.reads.push_back(whole(program, y, output.role));  // keeps the columns of earlier tiles
        }
        op.writes.push_back(whole(program, y, output.role));
        add_workspace(op, tile_workspace_bytes(op, op.row_end, described.in));
        add(std::move(op));
    }
    if (!described.adapters.empty()) {
        forward_adapters(unit, phase, microbatch, x, y);
    }
}

/// Fills the rows of the output whose tokens are rows of the tile.
///
/// Then adds the part that all rows share.
void PhaseWriter::forward_lookup_tiles(UnitId unit, int phase, int microbatch) {
    const auto& described = unit_of(unit).phases[phase];
    auto& program = draft_.program;
    const auto& output = described.writes.front();
    const BufferId x =
        value_buffer(unit, output.value, output.wanted, microbatch, is_kept(unit, output.value));
    values_[{microbatch, unit, output.value}] = {x, output.wanted};
    const auto tiles = num_tiles(unit, phase);
    const bool is_slice = model_.tensor() > 1;
    if (is_slice) {  // rows of other slices stay zero
        auto zeros = compute_op(unit, phase, microbatch, Direction::forward);
        zeros.kind = OpKind::fill;
        zeros.flops = 0;
        zeros.label = "zeros for " + zeros.label;
        zeros.writes.push_back(whole(program, x, Role::output));
        add(std::move(zeros));
    }
    for (std::size_t t = 0; t < tiles; ++t) {
        auto op = compute_op(unit, phase, microbatch, Direction::forward, t);
        add_parameters(op, described, {Role::table});
        op.reads.push_back(batch(BatchTensor::tokens, microbatch));
        if (t > 0 || is_slice) {
            op.reads.push_back(whole(program, x, output.role));
        }
        op.writes.push_back(whole(program, x, output.role));
        add(std::move(op));
    }
    auto rest = compute_op(unit, phase, microbatch, Direction::forward, tiles);
    if (model_.tensor_rank == 0) {  // one rank of a sum adds it
        add_parameters(rest, described, {Role::position_table});
    }
    const bool drops = described.has_dropout && program.variant == Variant::train;
    if (rest.reads.empty() && !drops) {
        return;
    }
    rest.reads.push_back(batch(BatchTensor::positions, microbatch));
    rest.reads.push_back(whole(program, x, output.role));
    if (drops) {
        add_dropout_reads(rest);
    }
    rest.writes.push_back(whole(program, x, output.role));
    add(std::move(rest));
}

/// Accumulates the gradient of the input over the tiles, in their order and in fp32.
///
/// The gradient of a tile's weight is complete after the tile's op.
void PhaseWriter::backward_tiles(UnitId unit, int phase, int microbatch) {
    const auto& described = unit_of(unit).phases[phase];
    auto& program = draft_.program;
    const auto d_y = d_output(unit, phase, microbatch);
    const auto& input = described.reads.front();
    const BufferId x =
        trains_weight(unit, phase) ? use_value(unit, input, microbatch, Direction::backward) : BufferId{};
    const bool passes_on = model_.passes_gradient_on(unit, phase);
    const BufferId d_x =
        passes_on ? gradient_buffer(unit, input.value, input.wanted, microbatch) : BufferId{};
    const bool is_narrow = model_.element_bytes < 4;
    const auto num_rows = rows(described.writes.front().wanted);
    const BufferId sum =
        passes_on && is_narrow
            ? scratch_buffer("sum of " + program.buffers[d_x].name, num_rows * described.in * 4,
                             MemoryCategory::working_buffers, unit, microbatch)
            : d_x;
    const auto tiles = num_tiles(unit, phase);
    for (std::size_t t = 0; t < tiles; ++t) {
        if (passes_on) {
            auto through = compute_op(unit, phase, microbatch, Direction::backward_input, t);
            through.reads.push_back(whole(program, d_y.buffer, Role::d_output));
            add_parameters(through, described, {Role::weight});
            if (t > 0) {
                through.reads.push_back(whole(program, sum, Role::d_input_sum));
            }
            through.writes.push_back(whole(program, sum, Role::d_input_sum));
            if (is_narrow && t + 1 == tiles) {
                through.writes.push_back(whole(program, d_x, Role::d_input));
            }
            add_workspace(through, tile_workspace_bytes(through, num_rows, described.in));
            add(std::move(through));
        }
        auto weight = compute_op(unit, phase, microbatch, Direction::backward_weight, t);
        if (add_gradients(weight, described, {Role::weight, Role::bias})) {
            const auto workspace = tile_workspace_bytes(weight, num_rows, described.in);
            add_weight_product(std::move(weight), x, d_y, workspace);
        }
    }
    const bool has_adapters = !described.adapters.empty();
    if (has_adapters && passes_on) {
        adapters_d_input(unit, phase, microbatch, d_y.buffer, d_x);
    }
    // The products for the adapters hide the sum.
    const auto left = passes_on ? whole_gradient(unit, phase, microbatch, d_x) : PlacedValue{};
    if (has_adapters) {
        adapter_gradients(unit, phase, microbatch, x, d_y);
    }
    if (passes_on) {
        leave_gradient(unit, phase, microbatch, left);
    }
}

/// Adds f (x A^T) B^T to the output, which has all its columns.
void PhaseWriter::forward_adapters(UnitId unit, int phase, int microbatch, BufferId x, BufferId y) {
    const auto& program = draft_.program;
    const auto& described = unit_of(unit).phases[phase];
    auto op = adapter_op(unit, phase, microbatch, Direction::forward);
    op.label += " of adapters";
    op.reads.push_back(whole(program, x, described.reads.front().role));
    add_parameters(op, described, {Role::lora_a, Role::lora_b});
    op.reads.push_back(whole(program, y, Role::output));
    op.writes.push_back(whole(program, y, Role::output));
    add_workspace(op, adapter_workspace_bytes(described));
    add(std::move(op));
}

/// Adds f (dy B) A to the gradient of the input, which has the sum over all tiles.
void PhaseWriter::adapters_d_input(UnitId unit, int phase, int microbatch, BufferId d_y, BufferId d_x) {
    const auto& program = draft_.program;
    const auto& described = unit_of(unit).phases[phase];
    auto op = adapter_op(unit, phase, microbatch, Direction::backward_input);
    op.label += " of adapters";
    op.reads.push_back(whole(program, d_y, Role::d_output));
    add_parameters(op, described, {Role::lora_a, Role::lora_b});
    op.reads.push_back(whole(program, d_x, Role::d_input));
    op.writes.push_back(whole(program, d_x, Role::d_input));
    add_workspace(op, adapter_workspace_bytes(described));
    add(std::move(op));
}

/// Computes the gradients of A and B.
void PhaseWriter::adapter_gradients(
    UnitId unit, int phase, int microbatch, BufferId x, const PlacedValue& d_y) {
    const auto& described = unit_of(unit).phases[phase];
    auto op = adapter_op(unit, phase, microbatch, Direction::backward_weight);
    op.label += " of adapters";
    add_gradients(op, described, {Role::lora_a, Role::lora_b});
    add_parameters(op, described, {Role::lora_a, Role::lora_b});
    add_weight_product(std::move(op), x, d_y, adapter_workspace_bytes(described));
}

void PhaseWriter::backward_lookup_tiles(UnitId unit, int phase, int microbatch) {
    const auto& described = unit_of(unit).phases[phase];
    const auto d_y = d_output(unit, phase, microbatch);
    const auto tiles = num_tiles(unit, phase);
    for (std::size_t t = 0; t <= tiles; ++t) {
        const bool is_rest = t == tiles;
        auto op = compute_op(unit, phase, microbatch, Direction::backward, t);
        if (!add_gradients(op, described, {is_rest ? Role::position_table : Role::table})) {
            continue;
        }
        op.reads.push_back(whole(draft_.program, d_y.buffer, Role::d_output));
        op.reads.push_back(is_rest ? batch(BatchTensor::positions, microbatch)
                                   : batch(BatchTensor::tokens, microbatch));
        if (described.has_dropout) {
            add_dropout_reads(op);
        }
        add(std::move(op));
    }
}

}  // namespace ziggurat::schedule
