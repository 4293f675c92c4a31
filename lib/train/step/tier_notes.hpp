/// Notes on tiers that are not as they were asked for, or not as fast as they could be.
#pragma once

#include <string>
#include <vector>

#include "comm/context.hpp"
#include "state/tier_memory.hpp"
#include "train/step/bind_transfers.hpp"

namespace ziggurat::train {

/// One sentence for each, for people; those of all ranks, without repetition, on rank 0.
///
/// \param queue_depth  blocks that a lane is to have under way
/// Collective: over `world`
std::vector<std::string> tier_notes(const comm::Context& world,
                                    const state::TierMemory& memory,
                                    const NvmeLanes& lanes,
                                    int queue_depth);

}  // namespace ziggurat::train
