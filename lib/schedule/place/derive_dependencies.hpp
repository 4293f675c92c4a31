/// Dependencies between ops, derived from the bytes that they read and write.
#pragma once

#include "schedule/step_program.hpp"

namespace ziggurat::schedule {

/// Sets waits_for and waits_for_previous_step of every op. Buffers must have their offsets.
///
/// An op waits for the last writer of the bytes that it reads. For bytes that it writes, it also waits for
/// the readers since the last write. The rule uses bytes of the arenas: it also orders different buffers that
/// use the same bytes one after another. Steps follow each other without a gap, so the first ops of a step
/// wait for ops of the previous step.
///
/// Implied waits are omitted: waits within a track of a lane (lane_tracks.hpp), which works in order, and
/// waits that follow from other waits of the op or of earlier ops on its lane. An op waits for at most one op
/// of another track. With these waits, every order in which lanes run their ops gives the result of list
/// order.
void derive_dependencies(Program& program);

}  // namespace ziggurat::schedule
