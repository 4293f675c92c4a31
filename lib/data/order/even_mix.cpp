#include "data/order/even_mix.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/contract.hpp"

namespace ziggurat::data {
namespace {

constexpr int share_bits = 48;
constexpr std::int64_t one = std::int64_t{1} << share_bits;
constexpr int first_saved_bits = 6;
constexpr int saved_bits_step = 3;
/// Far above any lag of a mix, and small enough that sums do not overflow.
constexpr std::int64_t max_lag = 1 << 10;
constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();

/// A sum of numbers of samples times shares: whole samples, and a rest in units of 2^-48.
struct Due {
    std::int64_t whole = 0;
    std::int64_t rest = 0;

    void add(std::int64_t samples, std::int64_t share) {
        // share = 2^24 high + low; samples = 2^24 upper + lower: no product exceeds 2^63.
        constexpr int half = share_bits / 2;
        constexpr std::int64_t mask = (std::int64_t{1} << half) - 1;
        const std::int64_t high = share >> half, low = share & mask;
        const std::int64_t upper = samples >> half, lower = samples & mask;
        whole += upper * high;
        add_rest(upper * low >> half, (upper * low & mask) << half);
        add_rest(lower * high >> half, (lower * high & mask) << half);
        add_rest(0, lower * low);
    }

  private:
    void add_rest(std::int64_t more_whole, std::int64_t more_rest) {
        rest += more_rest;
        whole += more_whole + (rest >> share_bits);
        rest &= one - 1;
    }
};

}  // namespace

std::vector<EvenMix::Shares> EvenMix::shares_of(std::span<const Range> ranges) {
    ZG_EXPECTS(!ranges.empty() && ranges.front().first == 0 && !ranges.front().weights.empty());
    std::vector<Shares> all;
    for (const auto& [first, weights] : ranges) {
        const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
        ZG_EXPECTS(sum > 0 && weights.size() == ranges.front().weights.size());
        ZG_EXPECTS(all.empty() || first > all.back().first);
        all.push_back({.first = first, .of_sources = {}});
        std::int64_t given = 0;
        double before = 0;
        // Differences of rounded partial sums: they add up to 1, and equal weights of 0 stay 0.
        for (std::size_t s = 0; s < weights.size(); ++s) {
            ZG_EXPECTS(weights[s] >= 0);
            before += weights[s];
            const auto so_far = std::min(one, static_cast<std::int64_t>(std::llround(before / sum * 0x1p48)));
            all.back().of_sources.push_back(so_far - given);
            given = so_far;
        }
        ZG_EXPECTS(given == one);
    }
    return all;
}

EvenMix::State EvenMix::state_of(std::span<const Shares> ranges, const MixPosition& reached) {
    const std::size_t num_sources = ranges.front().of_sources.size();
    ZG_EXPECTS(reached.samples >= 0);
    State state{.samples = reached.samples,
                .counts = reached.counts,
                .lags = std::vector<std::int64_t>(num_sources),
                .deadlines = std::vector<std::int64_t>(num_sources)};
    state.counts.resize(num_sources);
    while (state.range + 1 < ranges.size() && ranges[state.range + 1].first <= state.samples) {
        ++state.range;
    }
    for (std::size_t s = 0; s < num_sources; ++s) {
        Due due;
        for (std::size_t r = 0; r <= state.range; ++r) {
            const std::int64_t end = r < state.range ? ranges[r + 1].first : state.samples;
            due.add(end - ranges[r].first, ranges[r].of_sources[s]);
        }
        // A difference that no mix can have is limited, because its product would overflow.
        state.lags[s] =
            std::clamp<std::int64_t>(due.whole - state.counts[s], -max_lag, max_lag) * one + due.rest;
    }
    return state;
}

bool EvenMix::can_reach(std::span<const Range> ranges, const MixPosition& reached) {
    std::int64_t rest = reached.samples;
    for (const std::int64_t count : reached.counts) {
        if (count < 0 || count > rest) {
            return false;
        }
        rest -= count;
    }
    const auto state = state_of(shares_of(ranges), reached);
    return rest == 0 &&
           std::ranges::all_of(state.lags, [](std::int64_t lag) { return std::abs(lag) < max_lag * one; });
}

EvenMix::EvenMix(std::span<const Range> ranges, const MixPosition& reached)
    : ranges_{shares_of(ranges)}, start_{state_of(ranges_, reached)} {
    const auto num_sources = static_cast<std::int64_t>(start_.counts.size());
    min_lag_ = num_sources > 1 ? one / (2 * num_sources - 2) : one;
    for (std::size_t s = 0; s < start_.counts.size(); ++s) {
        start_.deadlines[s] = deadline(start_, s);
    }
    current_ = start_;
    saved_.fill({start_, start_});
}

std::int64_t EvenMix::end_of_range(std::size_t range) const {
    return range + 1 < ranges_.size() ? ranges_[range + 1].first : never;
}

std::int64_t EvenMix::deadline(const State& state, std::size_t source) const {
    std::int64_t missing = one - min_lag_ - state.lags[source];
    std::int64_t samples = state.samples;
    for (std::size_t r = state.range; r < ranges_.size() && missing > 0; ++r) {
        const std::int64_t share = ranges_[r].of_sources[source];
        const std::int64_t length = end_of_range(r) - samples;
        const std::int64_t needed = share > 0 ? (missing - 1) / share + 1 : never;
        if (needed <= length && needed != never) {
            return samples + needed;
        }
        if (r + 1 == ranges_.size()) {
            return never;
        }
        missing -= share * length;  // less than `missing` before
        samples += length;
    }
    return samples;
}

std::size_t EvenMix::choose(const State& state) const {
    const auto& shares = ranges_[state.range].of_sources;
    const std::size_t none = shares.size();
    std::size_t eligible = none, ahead = none, largest = 0;
    const auto is_first = [&](std::size_t s, std::size_t other) {
        return other == none || state.deadlines[s] < state.deadlines[other];
    };
    for (std::size_t s = 0; s < shares.size(); ++s) {
        const std::int64_t lag = state.lags[s] + shares[s];
        if (state.deadlines[s] != never && lag >= min_lag_ && is_first(s, eligible)) {
            eligible = s;
        }
        if (shares[s] > 0 && lag > 0 && is_first(s, ahead)) {
            ahead = s;
        }
        if (lag > state.lags[largest] + shares[largest]) {
            largest = s;
        }
    }
    return eligible != none ? eligible : ahead != none ? ahead : largest;
}

std::size_t EvenMix::advance(State& state) const {
    const std::size_t source = choose(state);
    const auto& shares = ranges_[state.range].of_sources;
    for (std::size_t s = 0; s < shares.size(); ++s) {
        state.lags[s] += shares[s];
    }
    state.lags[source] -= one;
    ++state.counts[source];
    ++state.samples;
    if (state.samples == end_of_range(state.range)) {
        ++state.range;
    }
    state.deadlines[source] = deadline(state, source);
    return source;
}

void EvenMix::move_to(std::int64_t samples) const {
    ZG_EXPECTS(samples >= start_.samples);
    const State* from = current_.samples <= samples ? &current_ : &start_;
    for (const auto& of_stride : saved_) {
        for (const State& saved : of_stride) {
            if (saved.samples <= samples && saved.samples > from->samples) {
                from = &saved;
            }
        }
    }
    if (from != &current_) {
        current_ = *from;
    }
    while (current_.samples < samples) {
        advance(current_);
        for (std::size_t i = 0; i < num_saved; ++i) {
            const int bits = first_saved_bits + saved_bits_step * static_cast<int>(i);
            if ((current_.samples & ((std::int64_t{1} << bits) - 1)) != 0) {
                break;
            }
            saved_[i][current_.samples >> bits & 1] = current_;
        }
    }
}

SourceMix::Pick EvenMix::pick(std::int64_t sample) const {
    move_to(sample);
    const std::size_t source = choose(current_);
    return {static_cast<int>(source), current_.counts[source]};
}

void EvenMix::count(std::int64_t samples, std::span<std::int64_t> counts) const {
    ZG_EXPECTS(counts.size() == start_.counts.size());
    move_to(samples);
    std::ranges::copy(current_.counts, counts.begin());
}

}  // namespace ziggurat::data
