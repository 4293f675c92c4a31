/// Alternating timing of several implementations on all ranks, so that a machine that changes its speed
/// changes it for all of them.
#pragma once

#include <functional>
#include <vector>

#include "comm/communicator.hpp"

namespace ziggurat::perf {

/// Seconds per execution.
struct Timing {
    double median = 0;
    double min = 0;
    double max = 0;
};

/// Length of a measurement.
struct RetryLimits {
    int rounds = 15;               ///< samples of each competitor, at least 3
    double sample_seconds = 5e-3;  ///< approximate time of a sample, which is a row of executions
};

/// Measures the competitors alternately and returns one Timing for each.
///
/// A sample begins with a barrier and ends when the slowest rank has finished. Each competitor is executed
/// twice before the timing starts.
///
/// Collective: over `world`; all ranks pass the same competitors in the same order
std::vector<Timing> time_in_turn(const comm::Communicator& world,
                                 const std::vector<std::function<void()>>& competitors,
                                 const RetryLimits& patience);

}  // namespace ziggurat::perf
