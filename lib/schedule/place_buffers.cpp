#include "schedule/place_buffers.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "schedule/free_list.hpp"
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
                           (buffer.state == StateKind::parameters || buffer.state == StateKind::frozen ||
                            buffer.state == StateKind::gradients || buffer.state == StateKind::secondary);
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
/// device shares, and the host. The others have buffers as close as can be.
constexpr std::array<std::int64_t, num_arenas> bytes_for_one_more{0, 8, 0, 32, 8};

enum class Which { all, of_arenas_that_may_grow };

/// Which transient buffers begin and end to live at each op.
struct Lives {
    Lives(const Program& program, Which which) {
        const auto ranges = live_ranges(program);
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

using ArenaSizes = std::array<std::int64_t, num_arenas>;

struct Placement {
    std::vector<std::int64_t> offsets;  ///< by buffer
    ArenaSizes ends{};
};

/// Places buffers in what is free of `arenas`, the `round`-th time around the cycle of steps.
Placement place(const Program& program,
                const Lives& lives,
                const std::vector<Room>& room,
                std::vector<FreeList>& arenas,
                int round,
                Fit fit) {
    Placement made{std::vector<std::int64_t>(program.buffers.size(), -1), {}};
    const auto num_ops = std::ssize(program.ops);
    for (std::int64_t i = 0; i < num_ops; ++i) {
        for (const int index : lives.begins[static_cast<std::size_t>(i)]) {
            const auto b = static_cast<std::size_t>(index);
            auto& arena = arenas[arena_of(program.buffers[b])];
            made.offsets[b] = arena.take(room[b].bytes, room[b].alignment, fit);
        }
        for (const int index : lives.ends[static_cast<std::size_t>(i)]) {
            const auto b = static_cast<std::size_t>(index);
            const auto time =
                fit == Fit::oldest ? round * times_told_apart + i * times_told_apart / num_ops : 0;
            arenas[arena_of(program.buffers[b])].give_back(made.offsets[b], room[b].bytes, time);
        }
    }
    for (std::size_t a = 0; a < num_arenas; ++a) {
        made.ends[a] = arenas[a].end();
    }
    return made;
}

std::vector<FreeList> arenas_behind(const ArenaSizes& fixed) {
    std::vector<FreeList> arenas;
    for (const auto end : fixed) {
        arenas.emplace_back(rounded_up(end, page_bytes));
    }
    return arenas;
}

/// Arenas as small as can be.
Placement place_close(const Program& program, const std::vector<Room>& room, const ArenaSizes& fixed) {
    auto arenas = arenas_behind(fixed);
    return place(program, {program, Which::all}, room, arenas, 0, Fit::smallest);
}

/// The buffers of arenas that may grow where memory has been free for longest, since the last step if need
/// be, in arenas that have `ends` to begin with.
Placement place_apart(const Program& program,
                      const std::vector<Room>& room,
                      const ArenaSizes& fixed,
                      const ArenaSizes& ends) {
    const Lives lives{program, Which::of_arenas_that_may_grow};
    auto arenas = arenas_behind(fixed);
    for (std::size_t a = 0; a < num_arenas; ++a) {
        arenas[a].grow_to(ends[a], -1);
    }
    place(program, lives, room, arenas, 0, Fit::oldest);
    return place(program, lives, room, arenas, 1, Fit::oldest);
}

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
    ArenaSizes fixed{};
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

    const auto close = place_close(program, room, fixed);
    const auto apart = place_apart(program, room, fixed, close.ends);
    std::array<const Placement*, num_arenas> chosen{};
    for (std::size_t a = 0; a < num_arenas; ++a) {
        const auto share = bytes_for_one_more[a];
        const auto more = apart.ends[a] - close.ends[a];
        const bool is_worth_it = share > 0 && more <= (close.ends[a] - fixed[a]) / share;
        chosen[a] = is_worth_it ? &apart : &close;
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
