/// A rank's part of the memory that a deck allows.
#pragma once

#include <array>
#include <cstdint>

#include "spec/run_spec.hpp"

namespace ziggurat::spec {

/// By Tier, a rank's equal part of the budgets; 0 where there is no limit.
std::array<std::int64_t, 3> budgets_of_rank(const RunSpec& run);

/// Its equal part of what may be pinned.
std::int64_t pinned_bytes_of_rank(const RunSpec& run);

}  // namespace ziggurat::spec
