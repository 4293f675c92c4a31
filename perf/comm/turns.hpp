/// Times several ways to do the same on all ranks, in turn, so that a machine that changes its speed changes
/// it for all of them.
#pragma once

#include <functional>
#include <vector>

#include "comm/communicator.hpp"

namespace ziggurat::perf {

/// Seconds of one execution.
struct Timing {
    double median = 0;
    double least = 0;
    double most = 0;
};

/// How long to measure.
struct Patience {
    int rounds = 15;               ///< samples of each competitor, at least 3
    double sample_seconds = 5e-3;  ///< a sample is as many executions in a row as take about this long
};

/// One Timing per competitor. A sample begins with a barrier and ends when the slowest rank has finished;
/// each competitor is executed twice before the clock runs.
///
/// Collective: over `world`; all ranks name the same competitors in the same order
std::vector<Timing> time_in_turn(const comm::Communicator& world,
                                 const std::vector<std::function<void()>>& competitors,
                                 const Patience& patience);

}  // namespace ziggurat::perf
