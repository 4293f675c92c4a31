/// Refuses what the budgets do not hold.
#pragma once

#include "comm/context.hpp"
#include "spec/machine_spec.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::app {

/// Before anything is reserved: every rank builds its own programs and knows what they take, to the byte.
/// False, on all ranks, where budgets do not hold it; then rank 0 has told the plan, what it lacks and, for a
/// training, what would help, and `exit_code` is that of Error{resource}. Collective: over `world`
bool is_to_fit(const comm::Context& world,
               const spec::RunSpec& run,
               const spec::MachineSpec& machine,
               int& exit_code);

}  // namespace ziggurat::app
