/// Notes on tiers that differ from the deck, or that are slower than possible.
#pragma once

#include <string>
#include <vector>

#include "comm/context.hpp"
#include "state/tier_memory.hpp"
#include "train/ops/bind_transfers.hpp"

namespace ziggurat::train {

/// Returns the human-readable notes of all ranks on rank 0, without duplicates.
///
/// \param queue_depth  configured number of blocks in flight on a lane
/// Collective: over `world`
std::vector<std::string> tier_notes(const comm::Context& world,
                                    const state::TierMemory& memory,
                                    const NvmeLanes& lanes,
                                    int queue_depth);

}  // namespace ziggurat::train
