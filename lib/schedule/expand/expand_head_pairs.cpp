/// The head of preference objectives, in two sweeps over the logits.
///
/// The factor of a token's gradient depends on the losses of all tokens of both answers of its pair. The
/// first sweep computes the losses, from which the factors follow. The second sweep computes the gradients.
/// If the logits of the micro-batch are more than one block, the second sweep computes them again.
///
/// Source: Rafailov et al., "Direct Preference Optimization", 2023, section 4 (the gradient)
#include <algorithm>
#include <string>

#include "schedule/expand/expand_head.hpp"
#include "schedule/expand/expand_phases.hpp"

namespace ziggurat::schedule {

using layout::PhaseKind;

/// Returns the losses of the micro-batch, gathered from all context ranks.
///
/// An answer lies on several context ranks. Each of them gathers the losses of all positions, so that it sums
/// them in the order in which one rank does.
Operand PhaseWriter::losses_of_all_positions(UnitId unit, int mb) {
    auto& program = draft_.program;
    const int ranks = model_.mesh.degree(spec::Axis::context);
    const auto losses = batch(BatchTensor::losses, mb);
    if (ranks == 1) {
        return losses;
    }
    const auto bytes = losses.bytes();
    const BufferId own = scratch_buffer("losses of own positions", bytes, MemoryCategory::logits, unit, mb);
    auto copy = compute_op(unit, phase_of(unit_of(unit), PhaseKind::loss), mb, Direction::none);
    copy.kind = OpKind::add;
    copy.flops = 0;
    copy.label = unit_of(unit).name + ".losses of own positions " + std::to_string(mb);
    copy.reads.push_back(losses);
    copy.writes.push_back(whole(program, own, Role::losses));
    add(std::move(copy));

    const BufferId all =
        scratch_buffer("losses of all positions", bytes * ranks, MemoryCategory::logits, unit, mb);
    Op gather;
    gather.kind = OpKind::all_gather;
    gather.purpose = Purpose::context;
    gather.unit = unit;
    gather.microbatch = mb;
    gather.group = program.group("context", model_.mesh.group(spec::Axis::context, model_.rank));
    gather.lane = program.lane(Engine::collective, gather.group);
    gather.payload = spec::DType::f32;
    gather.label = unit_of(unit).name + ".losses of all positions " + std::to_string(mb);
    gather.blocks = equal_blocks(bytes / 4 * ranks, 4, ranks);
    gather.reads.push_back(whole(program, own, Role::input));
    gather.writes.push_back(whole(program, all, Role::output));
    add(std::move(gather));
    return whole(program, all, Role::losses);
}

/// Computes the results of pairs and the factor of each token's gradient; returns the factors.
BufferId PhaseWriter::weights_of_pairs(UnitId unit, int mb) {
    const auto losses = losses_of_all_positions(unit, mb);
    auto op = compute_op(unit, phase_of(unit_of(unit), PhaseKind::loss), mb, Direction::none);
    op.kind = OpKind::loss;
    op.flops = 0;
    op.label = unit_of(unit).name + ".pairs " + std::to_string(mb);
    op.reads = {losses, batch(BatchTensor::pairs, mb), batch(BatchTensor::references, mb)};
    const BufferId weights =
        scratch_buffer("weights of tokens", model_.tokens * 4, MemoryCategory::logits, unit, mb);
    op.writes.push_back(whole(draft_.program, weights, Role::token_weights));
    op.writes.push_back(batch(BatchTensor::pair_results, mb));
    add(std::move(op));
    return weights;
}

/// Adds the factors of the rows of a loss op; `weights` < 0: all are 1.
void PhaseWriter::add_token_weights(Op& loss, BufferId weights) const {
    if (weights >= 0) {
        loss.reads.push_back(part(weights, Role::token_weights, loss.row_begin, loss.row_end, 4));
    }
}

void PhaseWriter::head_of_pairs(UnitId unit, int mb, const PackedHead& packed, BufferId d_h) {
    auto& program = draft_.program;
    const auto& product = unit_of(unit).phases[phase_of(unit_of(unit), PhaseKind::logits)];
    const auto block = workspaces_->logits_rows(product.out);
    const BufferId statistics = scratch_buffer("loss statistics", model_.tokens * loss_statistics_bytes,
                                               MemoryCategory::logits, unit, mb);
    BufferId logits = -1;
    for (std::int64_t begin = 0; begin < model_.tokens; begin += block) {
        const auto end = std::min(begin + block, model_.tokens);
        logits = logits_of_rows(unit, mb, begin, end, packed, Direction::forward);
        auto local = loss_op(unit, mb, begin, end, logits);
        local.direction = Direction::none;
        local.label += " statistics";
        local.writes.push_back(part(statistics, Role::statistics, begin, end, loss_statistics_bytes));
        add(std::move(local));
    }
    merge_statistics(unit, mb, statistics);
    losses_of_statistics(unit, mb, 0, model_.tokens, statistics);
    const BufferId weights = weights_of_pairs(unit, mb);
    for (std::int64_t begin = 0; begin < model_.tokens; begin += block) {
        const auto end = std::min(begin + block, model_.tokens);
        if (block < model_.tokens) {
            logits = logits_of_rows(unit, mb, begin, end, packed, Direction::recompute);
        }
        auto loss = loss_op(unit, mb, begin, end, logits);
        loss.direction = Direction::backward;
        loss.label = label_of(unit, loss.phase, loss.direction, mb) + " rows " + std::to_string(begin);
        loss.reads.push_back(part(statistics, Role::statistics, begin, end, loss_statistics_bytes));
        add_token_weights(loss, weights);
        add_step_inputs(loss);
        loss.writes.push_back(whole(program, logits, Role::d_input));
        add(std::move(loss));
        backward_of_logits(unit, mb, begin, end, logits, packed, d_h);
    }
}

}  // namespace ziggurat::schedule
