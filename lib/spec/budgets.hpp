/// A rank's share of the memory budgets of a deck.
#pragma once

#include <array>
#include <cstdint>

#include "spec/run_spec.hpp"

namespace ziggurat::spec {

/// Returns a rank's equal share of the budgets, indexed by Tier; 0: unlimited.
ByTier<std::int64_t> budgets_of_rank(const RunSpec& run);

/// Returns a rank's equal share of the memory that may be pinned.
std::int64_t pinned_bytes_of_rank(const RunSpec& run);

}  // namespace ziggurat::spec
