/// `sharding.leases: auto`: how long parameters that are cut stay gathered.
#pragma once

#include "plan/watch.hpp"
#include "spec/machine_spec.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::plan {

/// Whether the budgets hold `spec`, whose homes are known, with its parameters gathered once a step. The
/// programs are built to see.
bool holds_leases_of_a_step(const spec::RunSpec& spec,
                            const spec::MachineSpec& machine,
                            const Watch& watch = {});

}  // namespace ziggurat::plan
