/// The head in blocks of rows. The logits of all tokens never exist at the same time.
#include <algorithm>

#include "base/contract.hpp"
#include "layout/host_workspaces.hpp"
#include "schedule/expand/expand_head.hpp"
#include "schedule/expand/expand_phases.hpp"

namespace ziggurat::schedule {

using layout::PhaseKind;

int phase_of(const layout::Unit& unit, PhaseKind kind) {
    for (std::size_t p = 0; p < unit.phases.size(); ++p) {
        if (unit.phases[p].kind == kind) {
            return static_cast<int>(p);
        }
    }
    ZG_EXPECTS(!"a head has a product with the vocabulary and a loss");
    return -1;
}

Operand part(BufferId buffer, Role role, std::int64_t begin, std::int64_t end, std::int64_t row_bytes) {
    return {buffer, role, {{begin * row_bytes, (end - begin) * row_bytes}}};
}

void set_rows(Op& op, const Op& of_all_rows, std::int64_t begin, std::int64_t end) {
    op.flops =
        of_all_rows.flops * static_cast<double>(end - begin) / static_cast<double>(of_all_rows.row_end);
    op.row_begin = begin;
    op.row_end = end;
}

/// Gathers the statistics of all slices of the vocabulary, which every tensor rank needs.
///
/// These are maxima, sums and target logits. They are gathered, because a maximum is not a sum.
int PhaseWriter::statistics_of(UnitId unit, int mb, std::int64_t begin, std::int64_t end, int logits) {
    auto& program = draft_.program;
    const auto own_bytes = (end - begin) * loss_statistics_bytes;
    const auto block = std::to_string(begin);
    const int own = scratch_buffer("loss statistics " + block, own_bytes, MemoryCategory::logits, unit, mb);
    auto local = loss_op(unit, mb, begin, end, logits);
    local.direction = Direction::none;
    local.label += " statistics";
    local.writes.push_back(whole(program, own, Role::statistics));
    add(std::move(local));
    merge_statistics(unit, mb, own);
    return own;
}

/// Merges this rank's statistics with those of the other slices of the vocabulary, if any.
void PhaseWriter::merge_statistics(UnitId unit, int mb, int own) {
    if (model_.tensor() == 1) {
        return;
    }
    auto& program = draft_.program;
    const auto described = program.buffers[own];
    const int all = scratch_buffer("all " + described.name, described.bytes * model_.tensor(),
                                   MemoryCategory::logits, unit, mb);
    const auto& loss = unit_of(unit).phases[phase_of(unit_of(unit), PhaseKind::loss)];
    auto gather = tensor_op(OpKind::all_gather, unit, mb, Direction::forward,
                            model_.width_axis(unit_of(unit).values[loss.reads.front().value]));
    gather.payload = spec::DType::f32;
    gather.blocks = equal_blocks(described.bytes / 4 * model_.tensor(), 4, model_.tensor());
    gather.reads.push_back(whole(program, own, Role::input));
    gather.writes.push_back(whole(program, all, Role::output));
    add(std::move(gather));

    auto merge = compute_op(unit, phase_of(unit_of(unit), PhaseKind::loss), mb, Direction::none);
    merge.kind = OpKind::loss;
    merge.label += " merged " + described.name;
    merge.reads.push_back(whole(program, all, Role::statistics));
    merge.writes.push_back(whole(program, own, Role::statistics));
    add(std::move(merge));
}

/// Computes the losses of the rows from the statistics of all slices of the vocabulary.
void PhaseWriter::losses_of_statistics(
    UnitId unit, int mb, std::int64_t begin, std::int64_t end, int statistics) {
    auto op = compute_op(unit, phase_of(unit_of(unit), PhaseKind::loss), mb, Direction::forward);
    op.kind = OpKind::loss;
    set_rows(op, op, begin, end);
    op.label += " losses of rows " + std::to_string(begin);
    op.reads.push_back(whole(draft_.program, statistics, Role::statistics));
    op.reads.push_back(batch_rows(BatchTensor::mask, mb, begin, end));
    op.writes.push_back(batch_rows(BatchTensor::losses, mb, begin, end));
    add(std::move(op));
}

Op PhaseWriter::loss_op(UnitId unit, int mb, std::int64_t begin, std::int64_t end, int logits) {
    auto& program = draft_.program;
    auto op = compute_op(unit, phase_of(unit_of(unit), PhaseKind::loss), mb, Direction::forward);
    op.kind = OpKind::loss;
    set_rows(op, op, begin, end);
    op.label += " rows " + std::to_string(begin);
    op.reads.push_back(whole(program, logits, Role::input));
    op.reads.push_back(batch_rows(BatchTensor::targets, mb, begin, end));
    op.reads.push_back(batch_rows(BatchTensor::mask, mb, begin, end));
    return op;
}

Op PhaseWriter::logits_op(UnitId unit, int mb, std::int64_t begin, std::int64_t end, Direction direction) {
    auto op = compute_op(unit, phase_of(unit_of(unit), PhaseKind::logits), mb, direction);
    set_rows(op, op, begin, end);
    op.label += " rows " + std::to_string(begin);
    return op;
}

/// Adds the weight of the product with the vocabulary: packed, if the device uses packed weights.
void PhaseWriter::add_head_weight(Op& op, BufferId packed, Role role) {
    if (packed < 0) {
        add_parameters(op, unit_of(op.unit).phases[op.phase]);
    } else {
        op.reads.push_back(whole(draft_.program, packed, role));
    }
}

/// Computes the logits of rows [begin, end).
BufferId PhaseWriter::logits_of_rows(UnitId unit,
                                     int mb,
                                     std::int64_t begin,
                                     std::int64_t end,
                                     const PackedHead& packed,
                                     Direction direction) {
    auto product = logits_op(unit, mb, begin, end, direction);
    const auto& described = unit_of(unit).phases[product.phase];
    const BufferId h = use_value(unit, described.reads.front(), mb, Direction::forward);
    const BufferId logits = scratch_buffer("logits of rows " + std::to_string(begin),
                                           (end - begin) * described.out * model_.element_bytes,
                                           MemoryCategory::logits, unit, mb);
    product.reads.push_back(part(h, Role::input, begin, end, described.in * model_.element_bytes));
    add_head_weight(product, packed.forward, Role::packed_forward);
    product.writes.push_back(whole(draft_.program, logits, Role::output));
    add_workspace(product, workspaces_->packed_linear(end - begin, described.in, described.out));
    add(std::move(product));
    return logits;
}

/// Computes the gradients of the product's input and weight from those of logits of some rows.
void PhaseWriter::backward_of_logits(UnitId unit,
                                     int mb,
                                     std::int64_t begin,
                                     std::int64_t end,
                                     BufferId d_logits,
                                     const PackedHead& packed,
                                     BufferId d_h) {
    auto& program = draft_.program;
    const auto& described = unit_of(unit).phases[phase_of(unit_of(unit), PhaseKind::logits)];
    const auto row_bytes = described.in * model_.element_bytes;
    const auto workspace = workspaces_->packed_linear(end - begin, described.in, described.out);
    if (d_h >= 0) {
        auto through = logits_op(unit, mb, begin, end, Direction::backward_input);
        through.reads.push_back(whole(program, d_logits, Role::d_output));
        add_head_weight(through, packed.backward, Role::packed_backward);
        through.writes.push_back(part(d_h, Role::d_input, begin, end, row_bytes));
        add_workspace(through, workspace);
        add(std::move(through));
    }
    const BufferId h = use_value(unit, described.reads.front(), mb, Direction::forward);
    auto weight = logits_op(unit, mb, begin, end, Direction::backward_weight);
    weight.reads.push_back(part(h, Role::input, begin, end, row_bytes));
    weight.reads.push_back(whole(program, d_logits, Role::d_output));
    if (add_gradients(weight, described)) {
        add_workspace(weight, workspace);
        add(std::move(weight));
    }
}

void PhaseWriter::losses_of_logits(
    UnitId unit, int mb, std::int64_t begin, std::int64_t end, BufferId logits) {
    auto& program = draft_.program;
    const bool trains = program.variant == Variant::train;
    auto loss = loss_op(unit, mb, begin, end, logits);
    if (model_.tensor() > 1) {
        const int statistics = statistics_of(unit, mb, begin, end, logits);
        losses_of_statistics(unit, mb, begin, end, statistics);
        loss.reads.push_back(whole(program, statistics, Role::statistics));
    } else {
        loss.writes.push_back(batch_rows(BatchTensor::losses, mb, begin, end));
    }
    if (trains) {
        loss.direction = Direction::backward;
        loss.label = label_of(unit, loss.phase, loss.direction, mb) + " rows " + std::to_string(begin);
        add_token_weights(loss, spec_.data.has_pairs ? weights_of_pairs(unit, mb) : BufferId{-1});
        add_step_inputs(loss);
        loss.writes.push_back(whole(program, logits, Role::d_input));
    }
    if (!loss.writes.empty()) {
        add(std::move(loss));
    }
}

void PhaseWriter::logits_block(
    UnitId unit, int mb, std::int64_t begin, std::int64_t end, const PackedHead& packed, BufferId d_h) {
    const BufferId logits = logits_of_rows(unit, mb, begin, end, packed, Direction::forward);
    losses_of_logits(unit, mb, begin, end, logits);
    if (draft_.program.variant == Variant::train) {
        backward_of_logits(unit, mb, begin, end, logits, packed, d_h);
    }
}

BufferId PhaseWriter::head(UnitId unit, int mb, BufferId input) {
    auto& program = draft_.program;
    const auto& described = unit_of(unit);
    const bool trains = program.variant == Variant::train;
    const int logits_phase = phase_of(described, PhaseKind::logits);
    const auto& use = described.phases[logits_phase].reads.front();
    values_[{mb, unit, described.input}] = {input, outside_};
    for (int p = 0; p < logits_phase; ++p) {
        forward_phase(unit, p, mb);
    }
    use_value(unit, use, mb, Direction::forward);

    if (model_.is_cube) {
        return cube_head(unit, logits_phase, mb);
    }
    const bool passes_on = trains && model_.passes_gradient_on(unit, logits_phase);
    if (model_.has_grid()) {
        return input_gradient_of_head(unit, mb, grid_head(unit, logits_phase, mb, passes_on));
    }
    if (model_.tiling(unit).cuts(logits_phase)) {
        const BufferId d_h = passes_on ? gradient_buffer(unit, use.value, use.wanted, mb) : BufferId{};
        head_tiles(unit, mb, use_value(unit, use, mb, Direction::forward), d_h);
        return input_gradient_of_head(unit, mb, d_h);
    }

    const auto packed = pack_head(unit, mb, passes_on);
    const BufferId d_h = passes_on ? gradient_buffer(unit, use.value, use.wanted, mb) : BufferId{};
    if (trains && spec_.data.has_pairs) {
        head_of_pairs(unit, mb, packed, d_h);
        return input_gradient_of_head(unit, mb, d_h);
    }
    const auto block = workspaces_->logits_rows(described.phases[logits_phase].out);
    for (std::int64_t begin = 0; begin < model_.tokens; begin += block) {
        const auto end = std::min(begin + block, model_.tokens);
        logits_block(unit, mb, begin, end, packed, d_h);
    }
    return input_gradient_of_head(unit, mb, d_h);
}

/// Packs the weight one time for all blocks of rows, if the device uses packed weights.
PhaseWriter::PackedHead PhaseWriter::pack_head(UnitId unit, int mb, bool passes_on) {
    const int phase = phase_of(unit_of(unit), PhaseKind::logits);
    const auto& product = unit_of(unit).phases[phase];
    const auto bytes = workspaces_->packed_weight(product.in, product.out);
    const bool has_few_rows = draft_.program.variant == Variant::cached &&
                              model_.tokens <= layout::HostWorkspaces::max_rows_in_place;
    if (bytes == 0 || has_few_rows) {
        return {};
    }
    auto pack = compute_op(unit, phase, mb, Direction::none);
    pack.flops = 0;
    add_parameters(pack, product);
    const auto made = [&](Role role) {
        const BufferId buffer = scratch_buffer(std::string{"head "} + to_string(role), bytes,
                                               MemoryCategory::workspaces, unit, mb);
        pack.writes.push_back(whole(draft_.program, buffer, role));
        return buffer;
    };
    PackedHead packed;
    packed.forward = made(Role::packed_forward);
    packed.backward = passes_on ? made(Role::packed_backward) : BufferId{};
    add(std::move(pack));
    return packed;
}

/// Writes backward of the phases before the product, starting with the gradient of the product's input.
BufferId PhaseWriter::input_gradient_of_head(UnitId unit, int mb, BufferId d_h) {
    if (d_h < 0) {
        return -1;
    }
    const int logits_phase = phase_of(unit_of(unit), PhaseKind::logits);
    leave_gradient(unit, logits_phase, mb, whole_gradient(unit, logits_phase, mb, d_h));
    backward_from(unit, logits_phase, mb);
    return d_input(unit, mb);
}

}  // namespace ziggurat::schedule
