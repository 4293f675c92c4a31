/// Replication of restored state over ranks that hold the same slices of tensors.
#pragma once

#include <functional>

#include "comm/context.hpp"
#include "layout/state_kinds.hpp"
#include "train/step/state_view.hpp"

namespace ziggurat::train {

/// Sends restored slices to all tensor ranks that hold the same slice.
///
/// Before the call, the ranks that count a parameter (ModelLayout::counts) have their pieces of it
/// (schedule::saved_runs). Afterwards the other holders also have them. The copy of the embedding on the last
/// stage also receives the pieces of the first stage.
///
/// \param is_sent  true for the kinds that are sent; the same on all ranks
/// Collective: over `world`; outside of any step
void replicate_slices(const comm::Context& world,
                      const StateView& state,
                      const std::function<bool(layout::StateKind)>& is_sent);

}  // namespace ziggurat::train
