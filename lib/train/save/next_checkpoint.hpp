/// Agreement of ranks on the checkpoint to read after one that was removed meanwhile.
#pragma once

#include "checkpoint/checkpoint_reader.hpp"
#include "checkpoint/read_choice.hpp"
#include "comm/context.hpp"

namespace ziggurat::train {

/// ReadChoice::gives_another() as rank 0 finds it, on all ranks, which have met an error in reading alike.
///
/// \param choice, failed  mean something on rank 0
/// Collective: over `world`
/// Errors:     on all ranks alike: those of ReadChoice::gives_another()
bool gives_another(const comm::Context& world,
                   checkpoint::ReadChoice& choice,
                   const checkpoint::CheckpointReader& failed);

}  // namespace ziggurat::train
