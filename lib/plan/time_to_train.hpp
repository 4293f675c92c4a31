/// Time of a training run, from the known rates of the machine.
#pragma once

#include <optional>
#include <string>

#include "spec/machine_spec.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::plan {

/// Returns the seconds of a step, as planned_time plans them.
///
/// nullopt if the machine's compute rate or, for state at home on NVMe, its disk rates are unknown.
/// Validation, sampling and saves are not included.
std::optional<double> planned_step_seconds(const spec::RunSpec& spec, const spec::MachineSpec& machine);

/// Returns the missing keys of the machine file, such as `device_flops`; empty if a time can be
/// planned.
std::string missing_rates(const spec::RunSpec& spec, const spec::MachineSpec& machine);

}  // namespace ziggurat::plan
