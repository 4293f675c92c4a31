/// Time of a step, from the rates of the hardware that its lanes use.
#pragma once

#include "plan/rates.hpp"
#include "schedule/step_program.hpp"

namespace ziggurat::plan {

/// Returns the seconds from step to step of `program`, without stalls for other ranks.
///
/// An op begins when its lane is free, the ops that it waits for have ended, and the resource that it shares
/// with other lanes (disks; without a device, the processor) is idle. Of several such ops, the one whose lane
/// has waited longest begins first. A step begins when the previous one has computed, as in train::Executor.
/// Peers are assumed to be as fast as this rank.
double step_seconds(const schedule::Program& program, const Rates& rates);

}  // namespace ziggurat::plan
