/// Choice of `sharding.leases: auto`: how long gathered parameters are kept.
#pragma once

#include "plan/watch.hpp"
#include "spec/machine_spec.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::plan {

/// True if the budgets suffice for `spec` with parameters gathered one time per step. Its homes must be
/// known.
///
/// Builds the programs to find out.
bool holds_leases_of_a_step(const spec::RunSpec& spec,
                            const spec::MachineSpec& machine,
                            const Watch& watch = {});

}  // namespace ziggurat::plan
