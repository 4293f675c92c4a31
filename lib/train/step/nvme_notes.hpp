/// Notes on an NVMe tier that is not as it was asked for, or not as fast as it could be.
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
std::vector<std::string> nvme_notes(const comm::Context& world,
                                    const state::TierMemory& memory,
                                    const NvmeLanes& lanes,
                                    int queue_depth);

}  // namespace ziggurat::train
