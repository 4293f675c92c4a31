/// Bound on sums in narrow types.
#pragma once

#include <cstdint>

namespace ziggurat::spec {

/// Micro-batches whose gradients may be added up in bf16 (deck/rules/rules_train.cpp says why).
inline constexpr std::int64_t most_added_in_bf16 = 64;

}  // namespace ziggurat::spec
