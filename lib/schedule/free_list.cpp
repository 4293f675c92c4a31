#include "schedule/free_list.hpp"

#include <algorithm>
#include <iterator>
#include <limits>
#include <optional>

namespace ziggurat::schedule {
namespace {

std::int64_t rounded_up(std::int64_t value, std::int64_t multiple) {
    return (value + multiple - 1) / multiple * multiple;
}

}  // namespace

void FreeList::grow_to(std::int64_t end, std::int64_t time) {
    if (end > end_) {
        give_back(end_, end - end_, time);
        end_ = end;
    }
}

std::int64_t FreeList::take(std::int64_t bytes, std::int64_t alignment, Fit fit) {
    if (bytes == 0) {
        return 0;
    }
    std::optional<Candidate> best;
    for (auto first = free_.begin(); first != free_.end();) {
        auto behind = std::next(first);
        auto end = first->first + first->second.bytes;
        for (; behind != free_.end() && behind->first == end; ++behind) {
            end += behind->second.bytes;
        }
        const auto consider = [&](std::int64_t begin) {
            if (begin < first->first || begin + bytes > end) {
                return;
            }
            const auto most = best ? best->time : std::numeric_limits<std::int64_t>::max();
            const auto time = fit == Fit::oldest ? newest(begin, bytes, most) : 0;
            const Candidate now{time, end - first->first, begin};
            best = best ? std::min(*best, now) : now;
        };
        consider(rounded_up(first->first, alignment));
        if (fit == Fit::oldest) {
            std::for_each(std::next(first), behind,
                          [&](const auto& segment) { consider(rounded_up(segment.first, alignment)); });
            consider((end - bytes) / alignment * alignment);
        }
        first = behind;
    }
    const auto begin = best ? best->begin : grow(bytes, alignment);
    cut(begin, bytes);
    return begin;
}

void FreeList::give_back(std::int64_t begin, std::int64_t bytes, std::int64_t time) {
    if (bytes == 0) {
        return;
    }
    const auto after = free_.find(begin + bytes);
    if (after != free_.end() && after->second.time == time) {
        bytes += after->second.bytes;
        free_.erase(after);
    }
    const auto next = free_.lower_bound(begin);
    if (next != free_.begin()) {
        auto& [before_begin, before] = *std::prev(next);
        if (before_begin + before.bytes == begin && before.time == time) {
            before.bytes += bytes;
            return;
        }
    }
    free_[begin] = {bytes, time};
}

std::int64_t FreeList::newest(std::int64_t begin, std::int64_t bytes, std::int64_t most) const {
    auto segment = std::prev(free_.upper_bound(begin));
    auto time = segment->second.time;
    for (++segment; time <= most && segment != free_.end() && segment->first < begin + bytes; ++segment) {
        time = std::max(time, segment->second.time);
    }
    return time;
}

/// Makes the free range that touches the end long enough.
std::int64_t FreeList::grow(std::int64_t bytes, std::int64_t alignment) {
    auto begin = end_;
    auto time = std::int64_t{0};
    for (auto last = free_.rbegin(); last != free_.rend() && last->first + last->second.bytes == begin;
         ++last) {
        begin = last->first;
        time = last->second.time;
    }
    begin = rounded_up(begin, alignment);
    grow_to(begin + bytes, time);
    return begin;
}

/// Takes free bytes out of the list.
void FreeList::cut(std::int64_t begin, std::int64_t bytes) {
    const auto end = begin + bytes;
    auto segment = std::prev(free_.upper_bound(begin));
    while (segment != free_.end() && segment->first < end) {
        const auto [from, found] = *segment;
        segment = free_.erase(segment);
        if (from < begin) {
            free_[from] = {begin - from, found.time};
        }
        if (from + found.bytes > end) {
            free_[end] = {from + found.bytes - end, found.time};
        }
    }
}

}  // namespace ziggurat::schedule
