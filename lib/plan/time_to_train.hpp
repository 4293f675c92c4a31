/// Time of a training, as far as the machine's rates are known.
#pragma once

#include <optional>
#include <string>

#include "spec/machine_spec.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::plan {

/// Seconds of a step of rank 0, as step_seconds plans them; nothing where the machine does not say how fast
/// it computes or, for state at home on NVMe, how fast its disks are. Exchanges between ranks, validation,
/// sampling and saves are not in it.
///
/// Of many layers and micro-batches some are planned, and what each further one adds is taken for the rest.
std::optional<double> planned_step_seconds(const spec::RunSpec& spec, const spec::MachineSpec& machine);

/// The keys of a machine file without which there is no time: `device_flops`. Empty: there is one.
std::string missing_rates(const spec::RunSpec& spec, const spec::MachineSpec& machine);

}  // namespace ziggurat::plan
