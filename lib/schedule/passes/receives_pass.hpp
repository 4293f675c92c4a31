/// Receives of a pipeline stage, posted when their sends are issued.
#pragma once

#include <vector>

#include "schedule/expand/expand.hpp"
#include "schedule/expand/pipeline_order.hpp"

namespace ziggurat::schedule {

/// Returns the start of each slot of each stage, if every slot takes one unit of time and messages take
/// 0.
///
/// \pre the orders do not deadlock when the stages run concurrently
std::vector<std::vector<int>> slot_times(const std::vector<std::vector<Slot>>& orders, bool turns_back);

/// Moves every receive before the stage's first slot that does not begin before the sending slot.
///
/// A send may end only after its receive is posted, and until then its value keeps its memory. Assume that
/// stages post receives only when they need the value. A value that a stage must send first can then occupy
/// the memory of its receive, while the neighbour is in the same state: a deadlock. Each receive is therefore
/// posted at the time of its send. It then waits only for ops of an earlier time, on all stages, so an order
/// exists in which everything ends, for any duration of the slots. The cost is the memory of the values that
/// are in flight or wait for their slot. Messages overlap with other slots.
///
/// Runs right after expand.
void receives_pass(ProgramBuilder& draft,
                   const std::vector<std::vector<Slot>>& orders,
                   const ModelLayout& model);

}  // namespace ziggurat::schedule
