#include "schedule/place/regions.hpp"

#include <algorithm>
#include <utility>

namespace ziggurat::schedule {

Regions arenas_of(const Program& program) {
    Regions regions;
    for (const auto& buffer : program.buffers) {
        regions.push_back(arena_of(buffer));
    }
    return regions;
}

Regions with_region_of_passes(const Program& program, Regions regions, std::int64_t activation_bytes) {
    const auto lane_of = [&](const Op& op) -> const Lane& { return program.lanes[op.lane]; };
    if (std::ranges::none_of(program.lanes, &Lane::serves_updates)) {
        return regions;
    }
    for (const auto& op : program.ops) {
        if (op.kind != OpKind::read && op.kind != OpKind::copy) {
            continue;
        }
        for (const auto& operand : op.writes) {
            const std::size_t b = operand.buffer;
            const auto& buffer = program.buffers[b];
            if (regions[b] != host_arena || buffer.lifetime != Lifetime::transient) {
                continue;
            }
            const bool is_parameter =
                op.kind == OpKind::read && !lane_of(op).serves_updates &&
                (buffer.state == StateKind::parameters || buffer.state == StateKind::frozen);
            const bool is_activation =
                op.kind == OpKind::copy && buffer.consumer == MemoryCategory::activations;
            const bool is_gradient = op.kind == OpKind::copy && buffer.state == StateKind::gradients;
            activation_bytes -= is_activation ? buffer.bytes : 0;
            if (is_parameter || is_gradient || (is_activation && activation_bytes >= 0)) {
                regions[b] = of_passes;
            }
        }
    }
    return regions;
}

}  // namespace ziggurat::schedule
