/// Replication of restored state, from pieces over the data axis to the shard of each rank.
#pragma once

#include "comm/context.hpp"
#include "train/step/held_state.hpp"

namespace ziggurat::train {

/// Every rank has its own piece (schedule::saved_runs) of master weights, moments and frozen parameters in
/// place; afterwards it has the whole shard of each kind that the shard degrees give it, and parameters that
/// are the rounding of their masters. Data travels from where it lies to where it belongs.
///
/// Collective: over `world`; exchanges among data ranks, outside of any step
void replicate_state(const comm::Context& world, const HeldState& state);

}  // namespace ziggurat::train
