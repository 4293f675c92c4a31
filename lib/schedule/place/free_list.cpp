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
        auto first_after = std::next(first);
        auto end = first->end();
        for (; first_after != free_.cend() && first_after->begin == end; ++first_after) {
            end = first_after->end();
        }
        const auto consider = [&](Segments::const_iterator segment, std::int64_t begin) {
            if (begin < first->begin || begin + bytes > end) {
                return;
            }
            ++places_weighed_;
            const auto max = best ? best->time : std::numeric_limits<std::int64_t>::max();
            const auto time = fit == FitPolicy::oldest ? newest(segment, begin, bytes, max) : 0;
            const Candidate now{time, end - first->begin, begin};
            best = best ? std::min(*best, now) : now;
        };
        if (end - first->begin >= bytes) {
            consider(first, round_up(first->begin, alignment));
        }
        if (fit == FitPolicy::oldest && end - first->begin >= bytes) {
            for (auto segment = std::next(first); segment != first_after; ++segment) {
                // Bytes that begin in this segment are not older than the segment.
                if (!best || segment->time <= best->time) {
                    consider(segment, round_up(segment->begin, alignment));
                }
            }
            consider(first, (end - bytes) / alignment * alignment);
        }
        first = first_after;
    }
    const auto begin = best ? best->begin : grow(bytes, alignment);
    cut(begin, bytes);
    return begin;
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

std::int64_t FreeList::newest(Segments::const_iterator segment,
                              std::int64_t begin,
                              std::int64_t bytes,
                              std::int64_t max) const {
    while (segment->end() <= begin) {
        ++segment;
    }
    auto time = segment->time;
    for (++segment; time <= max && segment != free_.cend() && segment->begin < begin + bytes; ++segment) {
        time = std::max(time, segment->time);
    }
    return time;
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
