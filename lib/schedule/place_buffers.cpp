#include "schedule/place_buffers.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <set>
#include <vector>

#include "schedule/transfer_runs.hpp"

namespace ziggurat::schedule {
namespace {

std::int64_t rounded_up(std::int64_t value, std::int64_t multiple) {
    return (value + multiple - 1) / multiple * multiple;
}

/// Free ranges of an arena that grows at its end.
class FreeList {
  public:
    explicit FreeList(std::int64_t begin) : end_{begin} {}

    std::int64_t end() const noexcept { return end_; }

    /// The smallest free range that holds `bytes`; the arena grows when there is none.
    std::int64_t take(std::int64_t bytes, std::int64_t alignment) {
        for (auto at = by_size_.lower_bound({bytes, 0}); at != by_size_.end(); ++at) {
            const auto [size, begin] = *at;
            const auto offset = rounded_up(begin, alignment);
            if (offset + bytes <= begin + size) {
                erase(begin, size);
                insert(begin, offset - begin);
                insert(offset + bytes, begin + size - offset - bytes);
                return offset;
            }
        }
        std::int64_t begin = end_;
        if (!by_begin_.empty() &&
            std::prev(by_begin_.end())->first + std::prev(by_begin_.end())->second == end_) {
            begin = std::prev(by_begin_.end())->first;
            erase(begin, end_ - begin);
        }
        const auto offset = rounded_up(begin, alignment);
        insert(begin, offset - begin);
        end_ = std::max(end_, offset + bytes);
        return offset;
    }

    void give_back(std::int64_t begin, std::int64_t bytes) {
        const auto after = by_begin_.lower_bound(begin);
        if (after != by_begin_.end() && after->first == begin + bytes) {
            const auto size = after->second;
            erase(begin + bytes, size);
            bytes += size;
        }
        const auto next = by_begin_.lower_bound(begin);
        if (next != by_begin_.begin()) {
            const auto [before, size] = *std::prev(next);
            if (before + size == begin) {
                erase(before, size);
                begin = before;
                bytes += size;
            }
        }
        insert(begin, bytes);
    }

  private:
    void insert(std::int64_t begin, std::int64_t bytes) {
        if (bytes > 0) {
            by_begin_[begin] = bytes;
            by_size_.insert({bytes, begin});
        }
    }
    void erase(std::int64_t begin, std::int64_t bytes) {
        by_begin_.erase(begin);
        by_size_.erase({bytes, begin});
    }

    std::int64_t end_;
    std::map<std::int64_t, std::int64_t> by_begin_;
    std::set<std::pair<std::int64_t, std::int64_t>> by_size_;
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
    std::array<std::int64_t, num_arenas> fixed{};
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
    std::vector<std::vector<int>> begins(program.ops.size());
    std::vector<std::vector<int>> ends(program.ops.size());
    for (std::size_t b = 0; b < program.buffers.size(); ++b) {
        auto& buffer = program.buffers[b];
        if (buffer.lifetime != Lifetime::transient) {
            continue;
        }
        buffer.offset = -1;
        if (ranges[b].first >= 0) {
            begins[static_cast<std::size_t>(ranges[b].first)].push_back(static_cast<int>(b));
            ends[static_cast<std::size_t>(ranges[b].last)].push_back(static_cast<int>(b));
        }
    }
    std::vector<FreeList> arenas;
    for (const auto begin : fixed) {
        arenas.emplace_back(rounded_up(begin, 4096));
    }
    for (std::size_t i = 0; i < program.ops.size(); ++i) {
        for (const int b : begins[i]) {
            auto& buffer = program.buffers[static_cast<std::size_t>(b)];
            const auto& wanted = room[static_cast<std::size_t>(b)];
            buffer.offset = arenas[arena_of(buffer)].take(wanted.bytes, wanted.alignment);
        }
        for (const int b : ends[i]) {
            const auto& buffer = program.buffers[static_cast<std::size_t>(b)];
            arenas[arena_of(buffer)].give_back(buffer.offset, room[static_cast<std::size_t>(b)].bytes);
        }
    }
    for (std::size_t a = 0; a < num_arenas; ++a) {
        program.arena_bytes[a] = arenas[a].end();
    }
}

}  // namespace ziggurat::schedule
