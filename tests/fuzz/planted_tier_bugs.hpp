/// Bugs that moving state between tiers could have, to be planted in correct programs.
#pragma once

#include <span>

#include "tests/fuzz/planted_bugs.hpp"

namespace ziggurat::test {

/// Returns the bugs for plant(). A fetch copies from the home to the working buffer; an eviction copies
/// back.
std::span<const PlantedBug> planted_tier_bugs();

}  // namespace ziggurat::test
