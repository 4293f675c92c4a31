/// in_turn: one action of several in each step, because an op's buffers are elsewhere in each.
#pragma once

#include <vector>

#include "train/ops/action.hpp"

namespace ziggurat::train {

/// Returns the action that is actions[s % n] in step s.
///
/// \pre all have the same functions, and none has a predicate
Action in_turn(std::vector<Action> actions);

}  // namespace ziggurat::train
