/// Ops that touch the same bytes without an order between them.
#pragma once

#include <vector>

#include "schedule/step_program.hpp"
#include "schedule/verify/simulate.hpp"

namespace ziggurat::schedule {

/// The first few races of two steps in a row. Buffers without a place in an arena are places of their own.
///
/// Source: Lamport, "Time, Clocks, and the Ordering of Events in a Distributed System", 1978, with one clock
/// per lane (Mattern, 1989).
std::vector<Finding> races(const Program& program);

}  // namespace ziggurat::schedule
