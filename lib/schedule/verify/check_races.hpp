/// Detection of ops that touch the same bytes without an order between them.
#pragma once

#include <vector>

#include "schedule/step_program.hpp"
#include "schedule/verify/simulate.hpp"

namespace ziggurat::schedule {

/// Returns the first few races of two consecutive steps. A buffer without an offset does not overlap
/// others.
///
/// Source: Lamport, "Time, Clocks, and the Ordering of Events in a Distributed System", 1978, with one clock
/// per lane (Mattern, 1989).
std::vector<Finding> races(const Program& program);

}  // namespace ziggurat::schedule
