/// Exchange of the weights and their average in the state of a run, to validate the average.
#pragma once

#include "comm/context.hpp"
#include "train/step/state_view.hpp"

namespace ziggurat::train {

/// Exchanges the master weights and their average (train.average), and sets the parameters from them.
///
/// A second call restores every bit. Each rank exchanges its shard over the whole data axis in its homes,
/// then data ranks gather the rest as after loading. Frozen tensors have no average and do not change.
///
/// \pre neither executor has work left, no save is running, and parameters are the rounded masters
///      (no overlap.delayed_update, a flush between steps)
/// Numerics:   exact: float32 bytes are moved
/// Collective: over `world`, outside of any step
/// Errors:     Error{resource} if a disk fails; then the state is undefined
void exchange_average(const comm::Context& world, const StateView& state);

}  // namespace ziggurat::train
