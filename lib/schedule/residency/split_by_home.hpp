/// Division of sums, norms and stash copies of state whose parts have homes in several tiers.
#pragma once

#include <vector>

#include "schedule/residency/homes.hpp"
#include "schedule/step_program.hpp"

namespace ziggurat::schedule {

/// Replaces each sum and norm of gradients, and each copy to a stash, by one op per tier of their home.
///
/// Each op then works in the tier of its part, and no part is moved because of another.
///
/// Numerics: norms are cut only between blocks of exact sums
void split_by_home(Program& program, const std::vector<std::vector<HomePart>>& homes);

}  // namespace ziggurat::schedule
