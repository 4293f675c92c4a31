#include "schedule/place/place_buffers.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "schedule/place/free_list.hpp"
#include "schedule/transfer_runs.hpp"

namespace ziggurat::schedule {
namespace {

std::int64_t rounded_up(std::int64_t value, std::int64_t multiple) {
    return (value + multiple - 1) / multiple * multiple;
}

/// Of persistent buffers by what they hold, whatever this variant does with them: they have one place in all.
void choose_arenas(Program& program) {
    for (auto& buffer : program.buffers) {
        buffer.is_shared = buffer.lifetime == Lifetime::persistent && buffer.tier != spec::Tier::nvme &&
                           layout::is_communicated(buffer.state);
    }
    for (const auto& op : program.ops) {
        if (op.kind < OpKind::all_gather || op.kind > OpKind::receive) {
            continue;
        }
        for (const auto* operands : {&op.reads, &op.writes}) {
            for (const auto& operand : *operands) {
                auto& buffer = program.buffers[static_cast<std::size_t>(operand.buffer)];
                buffer.is_shared = buffer.is_shared || buffer.lifetime == Lifetime::transient;
            }
        }
    }
}

/// What a buffer takes of an arena.
struct Room {
    std::int64_t alignment = 64;
    std::int64_t bytes = 0;
};

std::vector<Room> rooms(const Program& program) {
    std::vector<Room> made;
    for (const auto& buffer : program.buffers) {
        const bool is_paged = buffer.tier == spec::Tier::nvme;
        made.push_back({is_paged ? page_bytes : alignment_of(buffer.bytes),
                        rounded_up(buffer.bytes, is_paged ? page_bytes : 64)});
    }
    for (const auto& op : program.ops) {
        if (op.kind != OpKind::read && op.kind != OpKind::write) {
            continue;
        }
        for (const auto* operands : {&op.reads, &op.writes}) {
            for (const auto& operand : *operands) {
                const auto b = static_cast<std::size_t>(operand.buffer);
                made[b] = {page_bytes, pages(program.buffers[b].bytes)};
            }
        }
    }
    return made;
}

/// Into so many parts a step is cut to tell when memory was given back: enough, and the free memory stays in
/// few pieces.
constexpr std::int64_t times_told_apart = 1024;

/// One in so many bytes of transient buffers may be paid for waiting less, by arena (see arena_of): what the
/// device shares, and the host, besides the region of passes. The others have buffers as close as can be.
constexpr std::array<std::int64_t, num_arenas> bytes_for_one_more{0, 8, 0, 32, 8};

enum class Which { all, of_arenas_that_may_grow };

/// Which transient buffers begin and end to live at each op.
struct Lives {
    Lives(const Program& program, const std::vector<LiveRange>& ranges, Which which) {
        begins.resize(program.ops.size());
        ends.resize(program.ops.size());
        for (std::size_t b = 0; b < program.buffers.size(); ++b) {
            const auto& buffer = program.buffers[b];
            const bool is_wanted = buffer.lifetime == Lifetime::transient &&
                                   (which == Which::all || bytes_for_one_more[arena_of(buffer)] > 0);
            if (is_wanted && ranges[b].first >= 0) {
                begins[static_cast<std::size_t>(ranges[b].first)].push_back(static_cast<int>(b));
                ends[static_cast<std::size_t>(ranges[b].last)].push_back(static_cast<int>(b));
            }
        }
    }

    std::vector<std::vector<int>> begins, ends;
};

/// The parts of memory that buffers are placed in one by one: the arenas, and what passes use of the host's
/// memory. That lies behind all else in the host's arena where it is a region of its own.
constexpr std::size_t num_regions = num_arenas + 1;
constexpr std::size_t of_passes = num_arenas;
constexpr std::size_t host_arena = 1;
static_assert(tier_of_arena(host_arena) == spec::Tier::host);

/// Activations get one in so many bytes of the host's arena in the region of passes.
constexpr std::int64_t bytes_for_one_of_activations = 4;

using Regions = std::vector<std::size_t>;  ///< by buffer

Regions arenas_of(const Program& program) {
    Regions regions;
    for (const auto& buffer : program.buffers) {
        regions.push_back(arena_of(buffer));
    }
    return regions;
}

/// With memory of its own for what goes through the host for forward and backward: parameters that NVMe reads
/// for other ops than updates, gradients that leave the device, and the first activations that do, up to so
/// many bytes. States from NVMe fill the arena while they are read ahead, updated and written, and passes
/// would have to wait for the last of them.
Regions with_region_of_passes(const Program& program, Regions regions, std::int64_t activation_bytes) {
    const auto lane_of = [&](const Op& op) -> const Lane& {
        return program.lanes[static_cast<std::size_t>(op.lane)];
    };
    if (std::ranges::none_of(program.lanes, &Lane::serves_updates)) {
        return regions;
    }
    for (const auto& op : program.ops) {
        if (op.kind != OpKind::read && op.kind != OpKind::copy) {
            continue;
        }
        for (const auto& operand : op.writes) {
            const auto b = static_cast<std::size_t>(operand.buffer);
            const auto& buffer = program.buffers[b];
            if (regions[b] != host_arena || buffer.lifetime != Lifetime::transient) {
                continue;
            }
            const bool is_parameter =
                op.kind == OpKind::read && !lane_of(op).serves_updates &&
                (buffer.state == StateKind::parameters || buffer.state == StateKind::frozen);
            const bool is_activation = op.kind == OpKind::copy && buffer.consumer == Consumer::activations;
            const bool is_gradient = op.kind == OpKind::copy && buffer.state == StateKind::gradients;
            activation_bytes -= is_activation ? buffer.bytes : 0;
            if (is_parameter || is_gradient || (is_activation && activation_bytes >= 0)) {
                regions[b] = of_passes;
            }
        }
    }
    return regions;
}

using RegionSizes = std::array<std::int64_t, num_regions>;

struct Placement {
    std::vector<std::int64_t> offsets;  ///< by buffer, in its region; behind in_arenas in its arena
    RegionSizes ends{};
};

/// Places transient buffers region by region, first in what is free behind `fixed`.
class Placing {
  public:
    Placing(const Program& program,
            const std::vector<LiveRange>& ranges,
            const std::vector<Room>& room,
            const RegionSizes& fixed,
            const Regions& regions)
        : program_{program}, ranges_{ranges}, room_{room}, fixed_{fixed}, regions_{regions} {}

    /// Arenas as small as can be.
    Placement close() const {
        auto free = free_behind_fixed();
        return place({program_, ranges_, Which::all}, free, 0, Fit::smallest);
    }

    /// The buffers of arenas that may grow where memory has been free for longest, since the last step if
    /// need be.
    ///
    /// \param ends  of close(): what they have before they grow
    Placement apart(const RegionSizes& ends) const {
        const Lives lives{program_, ranges_, Which::of_arenas_that_may_grow};
        auto free = free_behind_fixed();
        for (std::size_t r = 0; r < num_regions; ++r) {
            free[r].grow_to(ends[r], -1);
        }
        place(lives, free, 0, Fit::oldest);
        return in_arenas(place(lives, free, 1, Fit::oldest));
    }

  private:
    std::vector<FreeList> free_behind_fixed() const {
        std::vector<FreeList> free;
        for (const auto end : fixed_) {
            free.emplace_back(rounded_up(end, page_bytes));
        }
        return free;
    }

    /// The `round`-th time around the cycle of steps.
    Placement place(const Lives& lives, std::vector<FreeList>& free, int round, Fit fit) const {
        Placement made{std::vector<std::int64_t>(program_.buffers.size(), -1), {}};
        const auto num_ops = std::ssize(program_.ops);
        for (std::int64_t i = 0; i < num_ops; ++i) {
            for (const int index : lives.begins[static_cast<std::size_t>(i)]) {
                const auto b = static_cast<std::size_t>(index);
                made.offsets[b] = free[regions_[b]].take(room_[b].bytes, room_[b].alignment, fit);
            }
            for (const int index : lives.ends[static_cast<std::size_t>(i)]) {
                const auto b = static_cast<std::size_t>(index);
                const auto time =
                    fit == Fit::oldest ? round * times_told_apart + i * times_told_apart / num_ops : 0;
                free[regions_[b]].give_back(made.offsets[b], room_[b].bytes, time);
            }
        }
        for (std::size_t r = 0; r < num_regions; ++r) {
            made.ends[r] = free[r].end();
        }
        return made;
    }

    /// With the region of passes behind the host's arena, as part of it.
    Placement in_arenas(Placement placed) const {
        const auto begin = rounded_up(placed.ends[host_arena], page_bytes);
        for (std::size_t b = 0; b < regions_.size(); ++b) {
            placed.offsets[b] += regions_[b] == of_passes ? begin : 0;
        }
        if (placed.ends[of_passes] > 0) {
            placed.ends[host_arena] = begin + placed.ends[of_passes];
        }
        return placed;
    }

    const Program& program_;
    const std::vector<LiveRange>& ranges_;
    const std::vector<Room>& room_;
    const RegionSizes& fixed_;
    const Regions& regions_;
};

}  // namespace

std::int64_t alignment_of(std::int64_t bytes) {
    return bytes >= (std::int64_t{1} << 20) ? page_bytes : 64;
}

std::vector<LiveRange> live_ranges(const Program& program) {
    std::vector<LiveRange> ranges(program.buffers.size());
    for (std::size_t i = 0; i < program.ops.size(); ++i) {
        for (const auto* operands : {&program.ops[i].reads, &program.ops[i].writes}) {
            for (const auto& operand : *operands) {
                auto& range = ranges.at(static_cast<std::size_t>(operand.buffer));
                if (range.first < 0) {
                    range.first = static_cast<int>(i);
                }
                range.last = static_cast<int>(i);
            }
        }
    }
    return ranges;
}

void place_buffers(Program& program) {
    choose_arenas(program);
    const auto room = rooms(program);
    RegionSizes fixed{};
    for (const auto lifetime : {Lifetime::persistent, Lifetime::inputs}) {
        for (std::size_t b = 0; b < program.buffers.size(); ++b) {
            auto& buffer = program.buffers[b];
            if (buffer.lifetime == lifetime) {
                auto& end = fixed[arena_of(buffer)];
                buffer.offset = rounded_up(end, room[b].alignment);
                end = buffer.offset + room[b].bytes;
            }
        }
    }

    const auto ranges = live_ranges(program);
    const auto arenas = arenas_of(program);
    const Placing by_arena{program, ranges, room, fixed, arenas};
    const auto close = by_arena.close();
    const auto regions = with_region_of_passes(
        program, arenas, (close.ends[host_arena] - fixed[host_arena]) / bytes_for_one_of_activations);
    std::vector<Placement> roomy;
    if (regions != arenas) {
        const Placing by_region{program, ranges, room, fixed, regions};
        roomy.push_back(by_region.apart(by_region.close().ends));
    }
    const auto is_worth_it = [&](const Placement& placed, std::size_t a) {
        const auto share = bytes_for_one_more[a];
        const auto most = share > 0 ? close.ends[a] + (close.ends[a] - fixed[a]) / share : -1;
        return placed.ends[a] - (a == host_arena ? placed.ends[of_passes] : 0) <= most;
    };
    bool is_served = !roomy.empty();
    for (std::size_t a = 0; is_served && a < num_arenas; ++a) {
        is_served = bytes_for_one_more[a] == 0 || is_worth_it(roomy.front(), a);
    }
    if (!is_served) {
        roomy.push_back(by_arena.apart(close.ends));
    }
    std::array<const Placement*, num_arenas> chosen{};
    for (std::size_t a = 0; a < num_arenas; ++a) {
        const auto found =
            std::ranges::find_if(roomy, [&](const Placement& placed) { return is_worth_it(placed, a); });
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
