/// Time of a training run, from the known rates of the machine.
#pragma once

#include <optional>
#include <string>

#include "spec/machine_spec.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::plan {

/// Returns the seconds of a step, as step_seconds plans them.
///
/// With a pipeline, these are the seconds of the slowest kind of stage, plus the pipeline bubble.
///
/// nullopt if the machine's compute rate or, for state at home on NVMe, its disk rates are unknown. Exchanges
/// between ranks, validation, sampling and saves are not included.
///
/// For many layers and micro-batches, some are planned, and the cost of each additional one is extrapolated.
std::optional<double> planned_step_seconds(const spec::RunSpec& spec, const spec::MachineSpec& machine);

/// Returns the missing keys of the machine file, such as `device_flops`; empty if a time can be
/// planned.
std::string missing_rates(const spec::RunSpec& spec, const spec::MachineSpec& machine);

}  // namespace ziggurat::plan
