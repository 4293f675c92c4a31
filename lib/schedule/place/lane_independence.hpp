/// Ops of a lane that may run at the same time as the ops before them.
#pragma once

#include "schedule/step_program.hpp"

namespace ziggurat::schedule {

/// Returns the number of ops directly before the op on its lane that may still run when it starts.
///
/// It is at most max_in_flight - 1. The ops have no bytes in common with it, except bytes that both only
/// read. derive_dependencies relies on the order of a lane, so an op must wait for all ops before these. Ops
/// of the previous step are never counted.
///
/// \pre place_buffers has run
int independent_ops_before(const Program& program, const Op& op);

}  // namespace ziggurat::schedule
