/// Host and cores of every rank, gathered on rank 0.
#pragma once

#include <vector>

#include "comm/context.hpp"
#include "train/step/rank_place.hpp"

namespace ziggurat::train {

/// Places of all ranks, in rank order, on rank 0; empty elsewhere.
///
/// Collective: over `world`
std::vector<RankPlace> gather_places(const comm::Context& world, const RankPlace& mine);

}  // namespace ziggurat::train
