/// Replication of restored state, from pieces over the data axis to the shard of each rank.
#pragma once

#include <functional>

#include "comm/context.hpp"
#include "layout/state_kinds.hpp"
#include "train/step/state_view.hpp"

namespace ziggurat::train {

/// Gathers restored state over the data axis, so that each rank has its whole shard of each kind.
///
/// Before the call, every rank has its own piece (schedule::saved_runs) of master weights, moments and frozen
/// parameters. Afterwards it has the whole shard of each kind according to the shard degrees. Parameters are
/// rounded from their masters. Source and target of the transfers are the homes of the state.
///
/// \param is_gathered  true for the kinds that are gathered; the same on all ranks; empty: all kinds
/// Collective: over `world`; communicates among data ranks, outside of any step
void replicate_state(const comm::Context& world,
                     const StateView& state,
                     const std::function<bool(layout::StateKind)>& is_gathered = {});

}  // namespace ziggurat::train
