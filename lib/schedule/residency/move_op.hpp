/// Ops that move bytes from one tier to another.
#pragma once

#include "schedule/step_program.hpp"

namespace ziggurat::schedule {

/// Returns a copy, read or write between these tiers, on its lane, without operands.
Op empty_move(Program& program, spec::Tier from, spec::Tier to);

/// Returns the op that moves a whole buffer to another buffer of equal size.
Op move_op(Program& program, int from, int to);

}  // namespace ziggurat::schedule
