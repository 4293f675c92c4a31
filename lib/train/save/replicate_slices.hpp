/// Replication of restored state over ranks that hold the same slices of tensors.
#pragma once

#include <functional>

#include "comm/context.hpp"
#include "layout/state_kinds.hpp"
#include "train/step/held_state.hpp"

namespace ziggurat::train {

/// The ranks that count a parameter (ModelLayout::counts) have their pieces of it (schedule::saved_runs) in
/// place; afterwards all tensor ranks that hold the same slice have them, and the copy of the embedding on
/// the last stage has those of the first.
///
/// \param is_sent  whether a kind is sent; the same on all ranks
/// Collective: over `world`; outside of any step
void replicate_slices(const comm::Context& world,
                      const HeldState& state,
                      const std::function<bool(layout::StateKind)>& is_sent);

}  // namespace ziggurat::train
