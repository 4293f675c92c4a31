/// Sums and norms of gradients whose parts are at home in several tiers.
#pragma once

#include <vector>

#include "schedule/passes/homes.hpp"
#include "schedule/step_program.hpp"

namespace ziggurat::schedule {

/// Puts one op for each tier in the place of every sum and every norm of gradients that are at home in
/// several, so that each works where its part lies and no part moves for the sake of another.
///
/// Numerics: norms are cut between blocks of exact sums, or not at all
void split_by_home(Program& program, const std::vector<std::vector<HomePart>>& homes);

}  // namespace ziggurat::schedule
