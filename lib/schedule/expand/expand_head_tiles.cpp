/// The head in tiles of the vocabulary. Neither its weight nor the logits of a token exist as a whole.
///
/// The tiles are processed two times. The first sweep keeps the values that the loss needs from each token's
/// logits: the maximum, the sum of exponentials and the logit of the target, accumulated tile by tile. The
/// second sweep recomputes each tile's logits and turns them into their gradient. A tile is no longer needed
/// after its products.
///
/// Source: Rajbhandari et al., "ZeRO-Infinity", 2021, section 5.1.3; Milakov and Gimelshein, "Online
/// normalizer calculation for softmax", 2018.
#include <algorithm>
#include <string>

#include "schedule/expand/expand_head.hpp"
#include "schedule/expand/expand_phases.hpp"

namespace ziggurat::schedule {

using layout::PhaseKind;

/// Computes the logits of rows [begin, end) for the columns of one tile.
int PhaseWriter::logits_of_tile(
    UnitId unit, int mb, std::size_t tile, std::int64_t begin, std::int64_t end, Direction direction) {
    auto& program = draft_.program;
    const int phase = phase_of(unit_of(unit), PhaseKind::logits);
    const auto& described = unit_of(unit).phases[phase];
    const BufferId h = use_value(unit, described.reads.front(), mb, Direction::forward);
    auto op = compute_op(unit, phase, mb, direction, tile);
    set_rows(op, op, begin, end);
    op.label += " rows " + std::to_string(begin);
    const auto columns = op.column_end - op.column_begin;
    const int logits =
        scratch_buffer("logits of tile " + std::to_string(tile) + " rows " + std::to_string(begin),
                       (end - begin) * columns * model_.element_bytes, MemoryCategory::logits, unit, mb);
    op.reads.push_back(part(h, Role::input, begin, end, described.in * model_.element_bytes));
    add_parameters(op, described);
    op.writes.push_back(whole(program, logits, Role::output));
    add_workspace(op, tile_workspace_bytes(op, end - begin, described.in));
    add(std::move(op));
    return logits;
}

void PhaseWriter::head_tiles(UnitId unit, int mb, BufferId h, BufferId d_h) {
    auto& program = draft_.program;
    const int phase = phase_of(unit_of(unit), PhaseKind::logits);
    const int loss_phase = phase_of(unit_of(unit), PhaseKind::loss);
    const auto& described = unit_of(unit).phases[phase];
    const auto row_bytes = described.in * model_.element_bytes;
    const auto tiles = num_tiles(unit, phase);
    const auto columns_of_tile = described.out / static_cast<std::int64_t>(tiles);
    const auto block = workspaces_->logits_rows(columns_of_tile);
    const int own = scratch_buffer("loss statistics", model_.tokens * loss_statistics_bytes,
                                   MemoryCategory::logits, unit, mb);
    const auto loss_op = [&](std::size_t t, std::int64_t begin, std::int64_t end, int logits) {
        auto op = compute_op(unit, loss_phase, mb, Direction::none);
        op.kind = OpKind::loss;
        set_rows(op, op, begin, end);
        const auto& tiling = model_.tiling(unit);
        op.segment = tiling.of_phase[phase][t];
        const auto& columns = tiling.segments[op.segment].rows;
        op.column_begin = columns.begin;
        op.column_end = columns.end;
        op.label += " tile " + std::to_string(t) + " rows " + std::to_string(begin);
        op.reads.push_back(whole(program, logits, Role::input));
        op.reads.push_back(batch_rows(BatchTensor::targets, mb, begin, end));
        op.reads.push_back(batch_rows(BatchTensor::mask, mb, begin, end));
        return op;
    };
    for (std::size_t t = 0; t < tiles; ++t) {
        for (std::int64_t begin = 0; begin < model_.tokens; begin += block) {
            const auto end = std::min(begin + block, model_.tokens);
            const int logits = logits_of_tile(unit, mb, t, begin, end, Direction::forward);
            auto op = loss_op(t, begin, end, logits);
            op.label += " statistics";
            const auto kept = part(own, Role::statistics, begin, end, loss_statistics_bytes);
            if (t > 0) {
                op.reads.push_back(kept);
            }
            op.writes.push_back(kept);
            add(std::move(op));
        }
    }
    merge_statistics(unit, mb, own);
    losses_of_statistics(unit, mb, 0, model_.tokens, own);
    if (program.variant != Variant::train) {
        return;
    }
    const BufferId weights = spec_.data.has_pairs ? weights_of_pairs(unit, mb) : BufferId{-1};
    const bool is_narrow = model_.element_bytes < 4;
    const BufferId sum = d_h >= 0 && is_narrow ? scratch_buffer("sum of " + program.buffers[d_h].name,
                                                                model_.tokens * described.in * 4,
                                                                MemoryCategory::working_buffers, unit, mb)
                                               : d_h;
    for (std::size_t t = 0; t < tiles; ++t) {
        for (std::int64_t begin = 0; begin < model_.tokens; begin += block) {
            const auto end = std::min(begin + block, model_.tokens);
            const int logits = logits_of_tile(unit, mb, t, begin, end, Direction::recompute);
            auto loss = loss_op(t, begin, end, logits);
            loss.direction = Direction::backward;
            loss.label += " gradient";
            loss.reads.push_back(part(own, Role::statistics, begin, end, loss_statistics_bytes));
            add_token_weights(loss, weights);
            add_step_inputs(loss);
            loss.writes.push_back(whole(program, logits, Role::d_input));
            add(std::move(loss));
            const auto product = [&](Direction direction) {
                auto op = compute_op(unit, phase, mb, direction, t);
                set_rows(op, op, begin, end);
                op.label += " rows " + std::to_string(begin);
                op.reads.push_back(whole(program, logits, Role::d_output));
                return op;
            };
            if (d_h >= 0) {
                auto through = product(Direction::backward_input);
                add_parameters(through, described);
                const auto total = part(sum, Role::d_input_sum, begin, end, described.in * 4);
                if (t > 0) {
                    through.reads.push_back(total);
                }
                through.writes.push_back(total);
                if (is_narrow && t + 1 == tiles) {
                    through.writes.push_back(part(d_h, Role::d_input, begin, end, row_bytes));
                }
                add_workspace(through, tile_workspace_bytes(through, end - begin, described.in));
                add(std::move(through));
            }
            auto weight = product(Direction::backward_weight);
            weight.reads.push_back(part(h, Role::input, begin, end, row_bytes));
            if (add_gradients(weight, described)) {
                add_workspace(weight, tile_workspace_bytes(weight, end - begin, described.in));
                add(std::move(weight));
            }
        }
    }
}

}  // namespace ziggurat::schedule
