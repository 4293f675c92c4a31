/// Timing of short work: the number of repetitions, and the lower quartile of several rounds.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "base/clock.hpp"

namespace ziggurat::app {

/// Returns the lower quartile of the values, which are not empty.
///
/// Other processes slow down some rounds, and nothing makes a round too fast. The minimum would be the round
/// in which the other ranks happened to do nothing.
inline double quartile_of(std::vector<double> values) {
    const auto quartile = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 4);
    std::nth_element(values.begin(), quartile, values.end());
    return *quartile;
}

/// Limits of the time that one measurement takes.
struct RoundLimits {
    double round_s = 2e-3;  ///< minimum duration of a round, so that the clock and one wait do not count
    double total_s = 0.15;  ///< approximate duration of all rounds
    int max_rounds = 15;
};

/// Repetitions of some work: several rounds of several calls each.
struct Rounds {
    static constexpr int min_rounds = 3;

    int calls = 1;
    int rounds = min_rounds;

    /// Returns the repetitions for work that takes `seconds`.
    static Rounds of(double seconds, const RoundLimits& limits) {
        const double call = std::max(seconds, 1e-8);
        const double calls = std::clamp(std::ceil(limits.round_s / call), 1.0, 1e5);
        const double rounds = std::clamp(limits.total_s / (calls * call), double{min_rounds},
                                         double(std::max(limits.max_rounds, min_rounds)));
        return {static_cast<int>(calls), static_cast<int>(rounds)};
    }

    /// Returns the usual seconds of one call. \param finish  called after each round
    template <class Work, class Finish>
    double time(const Work& work, const Finish& finish) const {
        std::vector<double> seconds;
        for (int round = 0; round < rounds; ++round) {
            const auto begin = monotonic_ns();
            for (int call = 0; call < calls; ++call) {
                work();
            }
            finish();
            seconds.push_back(seconds_between(begin, monotonic_ns()) / calls);
        }
        return quartile_of(std::move(seconds));
    }
};

/// Returns the usual seconds of one call.
///
/// The first call, which loads kernels and touches memory, is not counted.
template <class Work, class Finish>
double usual_seconds(const Work& work, const Finish& finish, const RoundLimits& limits) {
    work();
    finish();
    const double first = Rounds{1, 1}.time(work, finish);
    return Rounds::of(first, limits).time(work, finish);
}

}  // namespace ziggurat::app
