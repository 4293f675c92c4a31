/// An op that moves bytes from one tier to another.
#pragma once

#include "schedule/step_program.hpp"

namespace ziggurat::schedule {

/// A copy, a read or a write between these tiers, on its lane; it names nothing yet.
Op empty_move(Program& program, spec::Tier from, spec::Tier to);

/// The same of a whole buffer to another of its length.
Op move_op(Program& program, int from, int to);

}  // namespace ziggurat::schedule
