/// Time of transfers between tiers.
#pragma once

#include "plan/cost/rates.hpp"
#include "schedule/step_program.hpp"

namespace ziggurat::plan {

/// Returns the seconds of a copy, read or write, if nothing else uses its link.
double transfer_seconds(const schedule::Op& op, const schedule::Program& program, const Rates& rates);

}  // namespace ziggurat::plan
