/// Limits of a micro-batch.
#pragma once

#include <cstdint>

namespace ziggurat::spec {

/// Maximum number of tokens of a micro-batch.
constexpr std::int64_t max_micro_batch_tokens = std::int64_t{1} << 24;

}  // namespace ziggurat::spec
