/// HTML page of a planned step, next to the last measured step of a run.
#pragma once

#include <string>

#include "plan/planned_time.hpp"
#include "plan/simulator/planned_timeline.hpp"
#include "spec/machine_spec.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::app {

/// Returns the page: what bounds the step, lanes over time, and memory of each tier.
///
/// If `folder` holds traces and metrics of a run, the page has the lanes of its last measured step and the
/// memory that it used.
///
/// Errors: Error{resource} if a trace of the run cannot be read
std::string plan_page(const plan::PlannedTime& time,
                      const plan::PlannedTimeline& timeline,
                      const spec::RunSpec& run,
                      const spec::MachineSpec& machine,
                      const std::string& folder);

}  // namespace ziggurat::app
