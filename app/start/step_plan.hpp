/// Planned step of a run that starts, to compare measured steps with.
#pragma once

#include <optional>

#include "comm/context.hpp"
#include "spec/machine_spec.hpp"
#include "spec/run_spec.hpp"
#include "train/account/planned_step.hpp"
#include "train/account/utilisation.hpp"

namespace ziggurat::app {

/// Returns the planned step on rank 0, at the machine's rates and the peak that the run measured.
///
/// nullopt on other ranks, and if rates are unknown. A run whose layers have many tiles is not planned,
/// because that would delay the start by a second or more; the result then has the reason.
///
/// Collective: local
std::optional<train::PlannedStep> planned_step(const comm::Context& world,
                                               const spec::RunSpec& run,
                                               spec::MachineSpec machine,
                                               const train::Peak& peak);

}  // namespace ziggurat::app
