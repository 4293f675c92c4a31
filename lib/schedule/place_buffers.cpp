#include "schedule/place_buffers.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <vector>

#include "schedule/transfer_runs.hpp"

namespace ziggurat::schedule {
namespace {

std::int64_t rounded_up(std::int64_t value, std::int64_t multiple) {
    return (value + multiple - 1) / multiple * multiple;
}

/// Which of the free ranges that are large enough a buffer gets, and at which of its ends.
enum class Fit { smallest, highest };

/// Free ranges of an arena that grows at its end.
class FreeList {
  public:
    /// From `begin` on; those up to `end` are free from the start.
    FreeList(std::int64_t begin, std::int64_t end) : end_{end} { insert(begin, end - begin); }

    std::int64_t end() const noexcept { return end_; }

    /// A part of a free range; the arena grows when there is none.
    std::int64_t take(std::int64_t bytes, std::int64_t alignment, Fit fit) {
        auto chosen = free_.end();
        for (auto at = free_.begin(); at != free_.end(); ++at) {
            const bool is_better =
                chosen == free_.end() || fit == Fit::highest || at->second < chosen->second;
            if (is_better && place_in(at, bytes, alignment, fit) >= 0) {
                chosen = at;
            }
        }
        if (chosen == free_.end()) {
            chosen = grow(bytes, alignment);
        }
        const auto offset = place_in(chosen, bytes, alignment, fit);
        const auto [begin, size] = *chosen;
        free_.erase(chosen);
        insert(begin, offset - begin);
        insert(offset + bytes, begin + size - offset - bytes);
        return offset;
    }

    void give_back(std::int64_t begin, std::int64_t bytes) {
        const auto after = free_.lower_bound(begin);
        if (after != free_.end() && after->first == begin + bytes) {
            bytes += after->second;
            free_.erase(after);
        }
        const auto next = free_.lower_bound(begin);
        if (next != free_.begin()) {
            const auto before = std::prev(next);
            if (before->first + before->second == begin) {
                begin = before->first;
                bytes += before->second;
            }
        }
        insert(begin, bytes);
    }

  private:
    using Ranges = std::map<std::int64_t, std::int64_t>;  ///< begin -> bytes

    void insert(std::int64_t begin, std::int64_t bytes) {
        if (bytes > 0) {
            free_[begin] = bytes;
        }
    }

    /// Where in a range; -1 when it is too small.
    static std::int64_t place_in(Ranges::iterator range,
                                 std::int64_t bytes,
                                 std::int64_t alignment,
                                 Fit fit) {
        const auto [begin, size] = *range;
        const auto last = (begin + size - bytes) / alignment * alignment;
        const auto first = rounded_up(begin, alignment);
        return size < bytes || last < first ? -1 : fit == Fit::highest ? last : first;
    }

    /// A free range at the end that holds `bytes`.
    Ranges::iterator grow(std::int64_t bytes, std::int64_t alignment) {
        const bool touches_end =
            !free_.empty() && std::prev(free_.end())->first + std::prev(free_.end())->second == end_;
        const auto begin = touches_end ? std::prev(free_.end())->first : end_;
        end_ = rounded_up(begin, alignment) + bytes;
        return free_.insert_or_assign(begin, end_ - begin).first;
    }

    std::int64_t end_;
    Ranges free_;
};

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

/// One in so many bytes of transient buffers may be paid for keeping those of the last updates apart.
constexpr std::int64_t bytes_for_one_apart = 16;

/// Which transient buffers begin and end to live at each op.
struct Lives {
    explicit Lives(const Program& program) : ranges{live_ranges(program)} {
        begins.resize(program.ops.size());
        ends.resize(program.ops.size());
        for (std::size_t b = 0; b < program.buffers.size(); ++b) {
            if (program.buffers[b].lifetime == Lifetime::transient && ranges[b].first >= 0) {
                begins[static_cast<std::size_t>(ranges[b].first)].push_back(static_cast<int>(b));
                ends[static_cast<std::size_t>(ranges[b].last)].push_back(static_cast<int>(b));
            }
        }
    }

    std::vector<LiveRange> ranges;
    std::vector<std::vector<int>> begins, ends;
};

using ArenaSizes = std::array<std::int64_t, num_arenas>;

struct Placement {
    std::vector<std::int64_t> offsets;  ///< by buffer
    ArenaSizes ends{};
};

/// Of the updates whose results may still be on their way to NVMe when the next step begins: as many as there
/// are sets of buffers at least, one being read, one updated and one written.
int first_of_last_updates(const Program& program) {
    int left = 3;
    for (auto i = static_cast<int>(program.ops.size()) - 1; i >= 0; --i) {
        left -= program.ops[static_cast<std::size_t>(i)].kind == OpKind::update ? 1 : 0;
        if (left == 0) {
            return i;
        }
    }
    return static_cast<int>(program.ops.size());
}

/// Places transient buffers behind `fixed`, in arenas that grow from `ends` when they must.
///
/// What lives at op `late` or behind it comes from the other end than all else.
Placement place(const Program& program,
                const Lives& lives,
                const std::vector<Room>& room,
                const ArenaSizes& fixed,
                const ArenaSizes& ends,
                int late) {
    std::vector<FreeList> arenas;
    for (std::size_t a = 0; a < num_arenas; ++a) {
        const auto begin = rounded_up(fixed[a], page_bytes);
        arenas.emplace_back(begin, std::max(begin, ends[a]));
    }
    Placement made{std::vector<std::int64_t>(program.buffers.size(), -1), {}};
    for (std::size_t i = 0; i < program.ops.size(); ++i) {
        for (const int index : lives.begins[i]) {
            const auto b = static_cast<std::size_t>(index);
            const auto fit = lives.ranges[b].last >= late ? Fit::highest : Fit::smallest;
            made.offsets[b] =
                arenas[arena_of(program.buffers[b])].take(room[b].bytes, room[b].alignment, fit);
        }
        for (const int index : lives.ends[i]) {
            const auto b = static_cast<std::size_t>(index);
            arenas[arena_of(program.buffers[b])].give_back(made.offsets[b], room[b].bytes);
        }
    }
    for (std::size_t a = 0; a < num_arenas; ++a) {
        made.ends[a] = arenas[a].end();
    }
    return made;
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

    const Lives lives{program};
    const int end = static_cast<int>(program.ops.size());
    const int late = first_of_last_updates(program);
    const auto close = place(program, lives, room, fixed, fixed, end);
    const auto apart = late < end ? place(program, lives, room, fixed, close.ends, late) : close;
    std::array<const Placement*, num_arenas> chosen{};
    for (std::size_t a = 0; a < num_arenas; ++a) {
        const bool is_dear = apart.ends[a] - close.ends[a] > (close.ends[a] - fixed[a]) / bytes_for_one_apart;
        chosen[a] = is_dear ? &close : &apart;
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
