/// Replication of restored state, from pieces over the data axis to the shard of each rank.
#pragma once

#include <cstdint>

#include "comm/context.hpp"
#include "train/step/held_state.hpp"

namespace ziggurat::train {

/// Bytes in memory at a time, of all that is on its way between ranks.
constexpr std::int64_t replication_window_bytes = std::int64_t{4} << 20;

/// Every rank has its own piece (schedule::saved_runs) of master weights, moments and frozen parameters in
/// place; afterwards it has the whole shard of each kind that the shard degrees give it, and parameters that
/// are the rounding of their masters. Data travels from where it lies to where it belongs.
///
/// Collective: over `world`; exchanges among data ranks, outside of any step
void replicate_state(const comm::Context& world, const HeldState& state);

}  // namespace ziggurat::train
