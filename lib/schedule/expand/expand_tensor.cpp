/// Collectives on the tensor axis that convert a value between the placements of neighbouring phases.
///
/// Source: Shoeybi et al., "Megatron-LM", 2019, section 3 (the operators f and g); Korthikanti et al.,
/// "Reducing Activation Recomputation in Large Transformer Models", 2022, section 4.2 (their forms with
/// sequence parallelism).
#include <algorithm>

#include "base/contract.hpp"
#include "schedule/expand/expand_phases.hpp"

namespace ziggurat::schedule {

using layout::Placement;

std::vector<ByteRange> equal_blocks(std::int64_t elements, std::int64_t element_bytes, int members) {
    constexpr std::int64_t granule = 16;
    const auto even = (elements + members - 1) / members;
    const auto block = elements % members == 0 ? even : (even + granule - 1) / granule * granule;
    std::vector<ByteRange> blocks;
    for (int m = 0; m < members; ++m) {
        const auto begin = std::min(elements, m * block);
        const auto end = std::min(elements, begin + block);
        blocks.push_back({begin * element_bytes, (end - begin) * element_bytes});
    }
    return blocks;
}

Op PhaseWriter::tensor_op(OpKind kind, UnitId unit, int microbatch, Direction direction, spec::Axis axis) {
    auto& program = draft_.program;
    Op op;
    op.kind = kind;
    op.direction = direction;
    op.purpose = Purpose::tensor;
    op.unit = unit;
    op.microbatch = microbatch;
    op.group = program.group(axis == spec::Axis::tensor ? "tensor" : "tensor column",
                             model_.mesh.group(axis, model_.rank));
    op.lane = program.lane(Engine::collective, op.group);
    op.payload = spec_.precision.compute;
    op.label = unit_of(unit).name + " " + to_string(kind) + " " + to_string(direction) + " " +
               std::to_string(microbatch);
    return op;
}

void PhaseWriter::sum_over_tensor(
    BufferId buffer, UnitId unit, int microbatch, Direction direction, spec::Axis axis) {
    if (model_.tensor() == 1) {
        return;
    }
    auto op = tensor_op(OpKind::all_reduce, unit, microbatch, direction, axis);
    auto& summed = draft_.program.buffers[buffer];
    summed.is_replicated = true;
    const std::int64_t width = element_bytes(summed);
    op.payload = summed.type;
    op.blocks = equal_blocks(summed.bytes / width, width, model_.tensor());
    op.reads.push_back(whole(draft_.program, buffer, Role::input));
    op.writes.push_back(whole(draft_.program, buffer, Role::output));
    add(std::move(op));
}

/// Converts a value, or its gradient, between two placements.
///
/// Ranks that divide the width of a value sum it; ranks that divide its tokens gather and scatter it.
int PhaseWriter::convert(BufferId buffer,
                         Placement from,
                         Placement to,
                         const layout::Value& value,
                         UnitId unit,
                         int microbatch,
                         Direction direction) {
    if (from == to || model_.tensor() == 1) {
        return buffer;
    }
    if (from == Placement::partial && to == Placement::replicated) {
        sum_over_tensor(buffer, unit, microbatch, direction, model_.width_axis(value));
        return buffer;
    }
    const bool gathers = (from == Placement::split_tokens && to == Placement::replicated) ||
                         (from == Placement::split_width && to == Placement::gathered);
    ZG_ENSURES(gathers || (from == Placement::partial && to == Placement::split_tokens) ||
               (from == Placement::gathered_partial && to == Placement::split_width));
    auto& program = draft_.program;
    auto made = program.buffers[buffer];
    made.name += gathers ? ", all tokens" : ", own tokens";
    const std::int64_t bytes_each = element_bytes(made);
    const auto type = made.type;
    const auto elements = [&](Placement placement) {
        return rows(placement) * layout::local_width(value, placement, model_.tensor());
    };
    made.bytes = elements(to) * bytes_each;
    // Only the slice is saved for backward.
    auto& all_tokens = gathers ? made : program.buffers[buffer];
    all_tokens.consumer = MemoryCategory::working_buffers;
    const int result = program.add_buffer(std::move(made));

    auto op = tensor_op(gathers ? OpKind::all_gather : OpKind::reduce_scatter, unit, microbatch, direction,
                        model_.token_axis(value));
    op.payload = type;
    op.blocks = equal_blocks(elements(gathers ? to : from), bytes_each, model_.tensor());
    op.reads.push_back(whole(program, buffer, Role::input));
    op.writes.push_back(whole(program, result, Role::output));
    add(std::move(op));
    return result;
}

}  // namespace ziggurat::schedule
