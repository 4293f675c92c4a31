/// Agreement of ranks on the next checkpoint to read after the selected one was removed.
#pragma once

#include "checkpoint/catalogue/read_choice.hpp"
#include "checkpoint/checkpoint_reader.hpp"
#include "comm/context.hpp"

namespace ziggurat::train {

/// Returns the result of CheckpointSelector::select_next() on rank 0, on all ranks.
///
/// It is called after a read error, which all ranks have received.
///
/// \param choice, failed  used only on rank 0
/// Collective: over `world`
/// Errors:     on all ranks: those of CheckpointSelector::select_next()
bool select_next(const comm::Context& world,
                 checkpoint::CheckpointSelector& choice,
                 const checkpoint::CheckpointReader& failed);

}  // namespace ziggurat::train
