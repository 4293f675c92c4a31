/// Ops that an op has to wait for, from the bytes that ops read and write.
#pragma once

#include "schedule/step_program.hpp"

namespace ziggurat::schedule {

/// Sets waits_for and waits_for_previous_step of every op. The buffers must have their places.
///
/// An op waits for the last writer of what it reads, and for the last writer and the later readers of what it
/// writes, by the bytes of the arenas: so buffers that lie at one place in turn are ordered by the same rule
/// as one buffer. Steps follow each other without a gap, so the first ops of a step wait for ops of the
/// step before.
///
/// Left out is what holds anyway: waits within a track of a lane (lane_tracks.hpp), which works in order, and
/// waits that follow from others of the op or of those in front of it on its lane. Of another track at most
/// one op is waited for. With these waits, any order in which lanes take their ops gives what list order
/// gives.
void derive_dependencies(Program& program);

}  // namespace ziggurat::schedule
