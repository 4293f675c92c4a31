#include "schedule/place/place_buffers.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "base/pages.hpp"
#include "base/round_up.hpp"
#include "schedule/place/buffer_placer.hpp"
#include "schedule/place/regions.hpp"

namespace ziggurat::schedule {
namespace {

/// Chooses the arenas. That of a persistent buffer depends only on its content, so it is the same in
/// all variants.
void choose_arenas(Program& program) {
    for (auto& buffer : program.buffers) {
        buffer.is_shared = buffer.lifetime == Lifetime::persistent && buffer.tier != spec::Tier::nvme &&
                           layout::is_communicated(buffer.state);
    }
    for (const auto& op : program.ops) {
        if (!is_collective(op.kind)) {
            continue;
        }
        for (const auto* operands : {&op.reads, &op.writes}) {
            for (const auto& operand : *operands) {
                auto& buffer = program.buffers[operand.buffer];
                buffer.is_shared = buffer.is_shared || buffer.lifetime == Lifetime::transient ||
                                   buffer.lifetime == Lifetime::in_flight;
            }
        }
    }
    for (const auto& [slots, shift] : program.rotations) {
        const bool is_any_shared =
            std::ranges::any_of(slots, [&](BufferId slot) { return program.buffers[slot].is_shared; });
        for (const BufferId slot : slots) {
            program.buffers[slot].is_shared = is_any_shared;
        }
    }
}

std::vector<BufferExtent> rooms(const Program& program) {
    std::vector<BufferExtent> made;
    for (const auto& buffer : program.buffers) {
        const bool is_paged = buffer.tier == spec::Tier::nvme;
        made.push_back({is_paged ? page_bytes : alignment_of(buffer.bytes),
                        round_up(buffer.bytes, is_paged ? page_bytes : 64)});
    }
    for (const auto& op : program.ops) {
        if (op.kind != OpKind::read && op.kind != OpKind::write) {
            continue;
        }
        for (const auto* operands : {&op.reads, &op.writes}) {
            for (const auto& operand : *operands) {
                const std::size_t b = operand.buffer;
                made[b] = {page_bytes, round_up_to_page(program.buffers[b].bytes)};
            }
        }
    }
    return made;
}

}  // namespace

std::int64_t alignment_of(std::int64_t bytes) {
    return bytes >= (std::int64_t{1} << 20) ? page_bytes : 64;
}

std::vector<LiveRange> live_ranges(const Program& program) {
    std::vector<LiveRange> ranges(program.buffers.size());
    const auto name = [&](const Operand& operand, std::size_t i) {
        auto& range = ranges.at(operand.buffer);
        if (range.first < 0) {
            range.first = static_cast<int>(i);
        }
        range.last = static_cast<int>(i);
    };
    for (std::size_t i = 0; i < program.ops.size(); ++i) {
        const auto& op = program.ops[i];
        for (const auto* operands : {&op.reads, &op.writes}) {
            for (const auto& operand : *operands) {
                name(operand, i);
            }
        }
        if (op.predicate) {
            name(*op.predicate, i);
        }
    }
    return ranges;
}

void place_buffers(Program& program) {
    choose_arenas(program);
    const auto room = rooms(program);
    RegionSizes fixed{};
    // KV caches follow everything that other variants keep between steps; see build_cached_program. What
    // comes after them differs between the programs that have them.
    enum class Fixed { persistent, cache, in_flight, inputs };
    const auto kind_of = [](const Buffer& buffer) -> std::optional<Fixed> {
        if (buffer.lifetime == Lifetime::transient) {
            return std::nullopt;
        }
        return buffer.consumer == MemoryCategory::kv_cache ? Fixed::cache
               : buffer.lifetime == Lifetime::persistent   ? Fixed::persistent
               : buffer.lifetime == Lifetime::in_flight    ? Fixed::in_flight
                                                           : Fixed::inputs;
    };
    for (const auto kind : {Fixed::persistent, Fixed::cache, Fixed::in_flight, Fixed::inputs}) {
        for (std::size_t b = 0; b < program.buffers.size(); ++b) {
            auto& buffer = program.buffers[b];
            if (kind_of(buffer) == kind && buffer.reuses >= 0) {
                buffer.offset = program.buffers[buffer.reuses].offset;
            } else if (kind_of(buffer) == kind) {
                auto& end = fixed[arena_of(buffer)];
                buffer.offset = round_up(end, room[b].alignment);
                end = buffer.offset + room[b].bytes;
            }
        }
    }
    for (auto& buffer : program.buffers) {
        if (buffer.second_slot >= 0) {
            buffer.second_offset = program.buffers[buffer.second_slot].offset;
        }
    }

    const auto ranges = live_ranges(program);
    const auto arenas = arenas_of(program);
    const BufferPlacer by_arena{program, ranges, room, fixed, arenas};
    const auto min = by_arena.min_ends();
    const auto close = by_arena.close(min);
    const auto regions = with_region_of_passes(
        program, arenas, (close.ends[host_arena] - fixed[host_arena]) / bytes_for_one_of_activations);
    std::vector<PlacedBuffers> roomy;
    if (regions != arenas) {
        const BufferPlacer by_region{program, ranges, room, fixed, regions};
        roomy.push_back(by_region.apart(by_region.close_on_host(close.ends)));
    }
    const auto is_worth_it = [&](const PlacedBuffers& placed, std::size_t a) {
        const auto share = bytes_for_one_more[a];
        const auto base = tier_of_arena(a) == spec::Tier::host ? close.ends[a] : min[a];
        const auto max = share > 0 ? std::max(close.ends[a], base + (base - fixed[a]) / share) : -1;
        return placed.ends[a] - (a == host_arena ? placed.ends[of_passes] : 0) <= max;
    };
    bool is_served = !roomy.empty();
    for (std::size_t a = 0; is_served && a < num_arenas; ++a) {
        is_served = bytes_for_one_more[a] == 0 || is_worth_it(roomy.front(), a);
    }
    if (!is_served) {
        roomy.push_back(by_arena.apart(close.ends));
    }
    std::array<const PlacedBuffers*, num_arenas> chosen{};
    for (std::size_t a = 0; a < num_arenas; ++a) {
        const auto found =
            std::ranges::find_if(roomy, [&](const PlacedBuffers& placed) { return is_worth_it(placed, a); });
        chosen[a] = found == roomy.end() ? &close : &*found;
        program.arena_bytes[a] = chosen[a]->ends[a];
    }
    for (std::size_t b = 0; b < program.buffers.size(); ++b) {
        auto& buffer = program.buffers[b];
        if (buffer.lifetime == Lifetime::transient) {
            buffer.offset = chosen[arena_of(buffer)]->offsets[b];
        }
    }
}

}  // namespace ziggurat::schedule
