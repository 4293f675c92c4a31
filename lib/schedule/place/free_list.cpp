#include "schedule/place/free_list.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <limits>
#include <optional>

#include "base/round_up.hpp"

namespace ziggurat::schedule {

void FreeList::grow_to(std::int64_t end, std::int64_t time) {
    if (end > end_) {
        release(end_, end - end_, time);
        end_ = end;
    }
}

std::int64_t FreeList::take(std::int64_t bytes, std::int64_t alignment, FitPolicy fit) {
    if (bytes == 0) {
        return 0;
    }
    std::optional<Candidate> best;
    for (auto first = free_.cbegin(); first != free_.cend();) {
        auto last = std::next(first);
        auto end = first->end();
        for (; last != free_.cend() && last->begin == end; ++last) {
            end = last->end();
        }
        const Range range{first, last, first->begin, end};
        if (fit == FitPolicy::oldest) {
            find_oldest(range, bytes, alignment, best);
        } else {
            const Candidate begin{0, range.bytes(), round_up(range.begin, alignment)};
            if (begin.begin + bytes <= end && (!best || begin < *best)) {
                best = begin;
            }
        }
        first = last;
    }
    const auto begin = best ? best->begin : grow(bytes, alignment);
    cut(begin, bytes);
    return begin;
}

void FreeList::find_oldest(const Range& range,
                           std::int64_t bytes,
                           std::int64_t alignment,
                           std::optional<Candidate>& best) {
    auto segment = range.first;  // contains `begin`
    auto after = range.first;    // the first segment after [begin, begin + bytes)
    for (auto begin = round_up(range.begin, alignment); begin + bytes <= range.end;) {
        // An equally old offset is better if its range is smaller.
        const auto max = !best                              ? std::numeric_limits<std::int64_t>::max()
                         : range.bytes() < best->free_bytes ? best->time
                                                            : best->time - 1;
        for (; segment->end() <= begin; ++segment) {}
        for (; after != range.last && after->begin < begin + bytes; ++after) {}
        auto time = std::numeric_limits<std::int64_t>::min();
        auto newest = after;
        while (newest != segment && time <= max) {
            --newest;
            ++segments_read_;
            time = std::max(time, newest->time);
        }
        if (time <= max) {
            best = {time, range.bytes(), begin};
            continue;  // One of these segments is too young for a better offset.
        }
        segment =
            std::find_if(std::next(newest), range.last, [&](const Segment& s) { return s.time <= max; });
        if (segment == range.last) {
            return;
        }
        begin = round_up(segment->begin, alignment);
    }
}

void FreeList::release(std::int64_t begin, std::int64_t bytes, std::int64_t time) {
    if (bytes == 0) {
        return;
    }
    auto after = first_after(begin);
    const bool joins_after = after != free_.end() && after->begin == begin + bytes && after->time == time;
    const auto before = after == free_.begin() ? free_.end() : std::prev(after);
    const bool joins_before = before != free_.end() && before->end() == begin && before->time == time;
    if (joins_before) {
        before->bytes += bytes + (joins_after ? after->bytes : 0);
        if (joins_after) {
            free_.erase(after);
        }
    } else if (joins_after) {
        after->begin = begin;
        after->bytes += bytes;
    } else {
        free_.insert(after, {begin, bytes, time});
    }
}

FreeList::Segments::iterator FreeList::first_after(std::int64_t position) {
    return std::ranges::upper_bound(free_, position, {}, &Segment::end);
}

/// Extends the free range at the end of the arena to the required size.
std::int64_t FreeList::grow(std::int64_t bytes, std::int64_t alignment) {
    auto begin = end_;
    auto time = std::int64_t{0};
    for (auto last = free_.rbegin(); last != free_.rend() && last->end() == begin; ++last) {
        begin = last->begin;
        time = last->time;
    }
    begin = round_up(begin, alignment);
    grow_to(begin + bytes, time);
    return begin;
}

/// Removes bytes from the free ranges.
void FreeList::cut(std::int64_t begin, std::int64_t bytes) {
    const auto end = begin + bytes;
    const auto first = first_after(begin);
    auto last = first;
    std::array<Segment, 2> left;
    std::size_t num_left = 0;
    for (; last != free_.end() && last->begin < end; ++last) {
        if (last->begin < begin) {
            left.at(num_left++) = {last->begin, begin - last->begin, last->time};
        }
        if (last->end() > end) {
            left.at(num_left++) = {end, last->end() - end, last->time};
        }
    }
    const auto at = free_.erase(first, last);
    free_.insert(at, left.begin(), left.begin() + static_cast<std::ptrdiff_t>(num_left));
}

}  // namespace ziggurat::schedule
