/// Host and cores of every rank, gathered on rank 0.
#pragma once

#include <vector>

#include "comm/context.hpp"
#include "train/step/rank_place.hpp"

namespace ziggurat::train {

/// Returns the placement of all ranks on rank 0, in rank order; empty on the other ranks.
///
/// Collective: over `world`
std::vector<RankPlacement> gather_placements(const comm::Context& world, const RankPlacement& mine);

}  // namespace ziggurat::train
