/// Bugs of the kind that moving state between tiers can have, to be planted in programs that are right.
#pragma once

#include <span>

#include "tests/fuzz/planted_bugs.hpp"

namespace ziggurat::test {

/// To be planted with plant(). A fetch comes from home to where it is used; an eviction goes home.
std::span<const PlantedBug> planted_tier_bugs();

}  // namespace ziggurat::test
