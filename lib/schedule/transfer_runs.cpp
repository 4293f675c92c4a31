#include "schedule/transfer_runs.hpp"

#include <algorithm>
#include <utility>

namespace ziggurat::schedule {

ByteRange touched(const Op& op, const ByteRange& run) {
    const bool by_page = op.kind == OpKind::read || op.kind == OpKind::write;
    return {run.offset, by_page ? round_up_to_page(run.bytes) : run.bytes};
}

ByteRangeSet::ByteRangeSet(ByteRangeList runs) : runs_{std::move(runs)} {
    if (!std::ranges::is_sorted(runs_, {}, &ByteRange::offset)) {
        std::ranges::sort(runs_, {}, &ByteRange::offset);
    }
    std::size_t joined = 0;
    for (const auto run : runs_) {
        if (run.bytes == 0) {
            continue;
        }
        if (joined > 0 && runs_[joined - 1].offset + runs_[joined - 1].bytes >= run.offset) {
            auto& last = runs_[joined - 1];
            last.bytes = std::max(last.offset + last.bytes, run.offset + run.bytes) - last.offset;
        } else {
            runs_[joined++] = run;
        }
    }
    runs_.shorten(joined);
}

bool ByteRangeSet::overlaps(const ByteRangeSet& other) const {
    return std::any_of(runs_.begin(), runs_.end(), [&](const ByteRange& a) {
        return std::any_of(other.runs_.begin(), other.runs_.end(), [&](const ByteRange& b) {
            return a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes;
        });
    });
}

ByteRangeSet ByteRangeSet::without(const ByteRangeSet& other) const {
    ByteRangeList left;
    for (const auto& run : runs_) {
        auto position = run.offset;
        const auto run_end = run.offset + run.bytes;
        for (const auto& taken : other.runs_) {
            const auto taken_end = taken.offset + taken.bytes;
            if (taken_end <= position || taken.offset >= run_end) {
                continue;
            }
            if (taken.offset > position) {
                left.push_back({position, taken.offset - position});
            }
            position = std::max(position, taken_end);
        }
        if (position < run_end) {
            left.push_back({position, run_end - position});
        }
    }
    return ByteRangeSet{std::move(left)};
}

ByteRangeSet ByteRangeSet::within(std::int64_t begin, std::int64_t end) const {
    ByteRangeList inside;
    for (const auto& run : runs_) {
        const auto from = std::max(begin, run.offset);
        const auto to = std::min(end, run.offset + run.bytes);
        if (from < to) {
            inside.push_back({from, to - from});
        }
    }
    return ByteRangeSet{std::move(inside)};
}

ByteRangeSet ByteRangeSet::in_pages(std::int64_t limit) const {
    ByteRangeList wider;
    for (const auto& run : runs_) {
        const auto from = run.offset / page_bytes * page_bytes;
        wider.push_back({from, std::min(limit, round_up_to_page(run.offset + run.bytes)) - from});
    }
    return ByteRangeSet{std::move(wider)};
}

void ByteRangeSet::add(const ByteRangeSet& other) {
    if (other.runs_.empty()) {
        return;
    }
    auto all = std::move(runs_);
    all.append(other.runs_.begin(), other.runs_.end());
    *this = ByteRangeSet{std::move(all)};
}

ByteRangeList ByteRangeSet::moved(std::int64_t by) const {
    auto runs = runs_;
    for (auto& run : runs) {
        run.offset += by;
    }
    return runs;
}

}  // namespace ziggurat::schedule
