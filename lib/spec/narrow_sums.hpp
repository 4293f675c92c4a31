/// Bound on sums in bf16.
#pragma once

#include <cstdint>

namespace ziggurat::spec {

/// Maximum number of micro-batches whose gradients may be summed in bf16 (reason:
/// deck/rules/rules_train.cpp).
inline constexpr std::int64_t max_added_in_bf16 = 64;

}  // namespace ziggurat::spec
