/// Receives of a pipeline stage, posted one ahead.
#pragma once

#include "schedule/step_program.hpp"

namespace ziggurat::schedule {

/// Moves every receive of the list in front of the place of the receive before it, the first one to the
/// start.
///
/// A send ends when its receive has been posted, and a value that waits to be sent keeps its memory. A stage
/// that posted each receive only when it needs the value could find the only place for it taken by a value
/// that it has to send first, while its neighbour is in the same position: all would wait. With one receive
/// posted ahead, what comes and what goes never stand in each other's place, and messages travel beside the
/// slot before. It costs the memory of one value between stages.
///
/// \pre receives write buffers that nothing earlier in the list names
void post_receives_early(Program& program);

}  // namespace ziggurat::schedule
