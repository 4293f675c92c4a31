/// Check of a run against its memory budgets, on all ranks.
#pragma once

#include "comm/context.hpp"
#include "spec/machine_spec.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::app {

/// Returns true, on all ranks, if the run fits its budgets. Call before any memory is reserved.
///
/// Every rank builds its own programs and computes their memory exactly. If the run does not fit, rank 0
/// prints the plan, the missing bytes and, for a training, remedies, and `exit_code` is that of
/// Error{resource}. Collective: over `world`
bool is_to_fit(const comm::Context& world,
               const spec::RunSpec& run,
               const spec::MachineSpec& machine,
               int& exit_code);

}  // namespace ziggurat::app
