/// Chrome trace of a planned step, next to the measured traces of a run.
#pragma once

#include <string>

#include "plan/simulator/planned_timeline.hpp"

namespace ziggurat::app {

/// Number by which process ids of planned ranks exceed those of measured ranks.
inline constexpr int planned_process = 1'000'000;

/// Returns the text of a trace file, in the format and with the lane names of train::Trace.
///
/// Each rank of the timeline is a process `plan of rank N`. If `folder` holds traces of a run, their events
/// are included and the planned step begins with the last measured step; else it begins at 0.
///
/// Errors: Error{resource} if a trace of the run cannot be read
std::string planned_trace(const plan::PlannedTimeline& timeline, const std::string& folder);

}  // namespace ziggurat::app
