/// The critical path of a simulated step: what its time consists of.
#pragma once

#include <string>
#include <vector>

#include "plan/simulator/step_simulation.hpp"

namespace ziggurat::plan {

/// Returns human-readable text for the work of an op, such as `optimizer` or `gathers of parameters`.
std::string work_of(const schedule::Op& op, const schedule::Program& program);

/// A part of the critical path: an op, or the time until the next one begins.
struct PathPart {
    OpInstance at;
    double seconds = 0;
};

/// Returns the critical path of a simulated step, from its end to its begin.
///
/// The path leads from the last op of the step back to its begin, each time to the op that was waited for
/// last. Seconds add up to those of the step.
std::vector<PathPart> critical_path(const std::vector<SimulatedRank>& ranks, const SimulatedSteps& steps);

}  // namespace ziggurat::plan
