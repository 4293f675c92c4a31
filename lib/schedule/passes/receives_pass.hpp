/// Receives of a pipeline stage, posted when their sends are.
#pragma once

#include <vector>

#include "schedule/expand/expand.hpp"
#include "schedule/expand/pipeline_order.hpp"

namespace ziggurat::schedule {

/// When each slot of each stage begins, if every slot takes one unit of time and messages none.
///
/// \pre the orders end when run against each other
std::vector<std::vector<int>> slot_times(const std::vector<std::vector<Slot>>& orders);

/// Moves every receive in front of the stage's first slot that does not begin before the slot that sends.
///
/// A send may end only when its receive has been posted, and until then its value keeps its memory. A stage
/// that posted receives only when it needs them could find their place taken by a value which it has to send
/// first, while its neighbour is in the same position: all would wait. Posted at the time of its send, every
/// receive has behind it only ops of an earlier time, on all stages, so there is an order in which everything
/// ends, whatever slots really take. It costs the memory of the values that are under way or wait for their
/// slot, and the messages travel beside other slots.
///
/// Runs right after expand.
void receives_pass(Draft& draft, const std::vector<std::vector<Slot>>& orders, int stage);

}  // namespace ziggurat::schedule
