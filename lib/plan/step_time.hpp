/// Time of a step, by the rates of what its lanes work with.
#pragma once

#include "plan/rates.hpp"
#include "schedule/step_program.hpp"

namespace ziggurat::plan {

/// Seconds from step to step of `program`, when nothing else is to be waited for: each op begins when its
/// lane is free, what it waits for has ended and what it shares with other lanes (disks; without a device the
/// processor) has nothing else to do, of several the one whose lane has waited longest; a step begins when
/// the one before has computed, as in train::Executor. Peers are as fast as this rank.
double step_seconds(const schedule::Program& program, const Rates& rates);

}  // namespace ziggurat::plan
