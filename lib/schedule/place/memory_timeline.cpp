#include "schedule/place/memory_timeline.hpp"

#include <algorithm>
#include <bit>
#include <iterator>

#include "base/contract.hpp"
#include "base/round_up.hpp"

namespace ziggurat::schedule {

void AddressRanges::add(std::int64_t begin, std::int64_t end) {
    const auto first = std::ranges::lower_bound(ranges_, begin, {}, &Range::end);
    auto last = first;
    for (; last != ranges_.end() && last->begin <= end; ++last) {
        begin = std::min(begin, last->begin);
        end = std::max(end, last->end);
    }
    if (first == last) {
        ranges_.insert(first, {begin, end});
        return;
    }
    *first = {begin, end};
    ranges_.erase(std::next(first), last);
}

MemoryTimeline::MemoryTimeline(std::size_t num_ops, std::int64_t begin) : begin_{begin}, end_{begin} {
    const auto leaves = std::bit_ceil(std::max<std::size_t>(num_ops, 1));
    last_op_ = static_cast<int>(leaves) - 1;
    nodes_.resize(2 * leaves);
}

std::int64_t MemoryTimeline::take(LiveRange life, std::int64_t bytes, std::int64_t alignment) {
    ZG_EXPECTS(0 <= life.first && life.first <= life.last && life.last <= last_op_ && bytes > 0);
    cursors_.clear();
    collect(1, 0, last_op_, life);
    auto begin = round_up(begin_, alignment);
    for (bool has_moved = true; has_moved;) {
        has_moved = false;
        for (auto& [next, last] : cursors_) {
            for (; next != last && next->begin < begin + bytes; ++next) {
                if (next->end > begin) {
                    begin = round_up(next->end, alignment);
                    has_moved = true;
                }
            }
        }
        std::erase_if(cursors_, [](const Cursor& cursor) { return cursor.next == cursor.last; });
    }
    occupy(1, 0, last_op_, life, begin, begin + bytes);
    end_ = std::max(end_, begin + bytes);
    return begin;
}

void MemoryTimeline::collect(std::size_t node, int first, int last, LiveRange life) {
    if (life.first <= first && last <= life.last) {
        add_cursor(nodes_[node].at_any_op);
        return;
    }
    add_cursor(nodes_[node].throughout);
    const int middle = first + (last - first) / 2;
    if (life.first <= middle) {
        collect(2 * node, first, middle, life);
    }
    if (life.last > middle) {
        collect(2 * node + 1, middle + 1, last, life);
    }
}

void MemoryTimeline::occupy(
    std::size_t node, int first, int last, LiveRange life, std::int64_t begin, std::int64_t end) {
    nodes_[node].at_any_op.add(begin, end);
    if (life.first <= first && last <= life.last) {
        nodes_[node].throughout.add(begin, end);
        return;
    }
    const int middle = first + (last - first) / 2;
    if (life.first <= middle) {
        occupy(2 * node, first, middle, life, begin, end);
    }
    if (life.last > middle) {
        occupy(2 * node + 1, middle + 1, last, life, begin, end);
    }
}

void MemoryTimeline::add_cursor(const AddressRanges& ranges) {
    const auto& all = ranges.ranges();
    if (!all.empty()) {
        cursors_.push_back({all.data(), all.data() + all.size()});
    }
}

}  // namespace ziggurat::schedule
