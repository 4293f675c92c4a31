/// Refuses what the budgets do not hold.
#pragma once

#include "spec/machine_spec.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::app {

/// Before anything is reserved.
///
/// Errors: Error{resource} with the plan, what it lacks and, for a training, what would help
void expect_to_fit(const spec::RunSpec& run, const spec::MachineSpec& machine);

}  // namespace ziggurat::app
