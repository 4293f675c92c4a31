/// Overlap of two orders of training samples, one of which continues the other.
#pragma once

#include <cstdint>

#include "data/order/sample_order.hpp"

namespace ziggurat::data {

struct RepeatedTokens {
    std::int64_t tokens = 0;
    bool is_exact = true;  ///< false: estimated from an even sample
};

/// Returns the number of tokens that training repeats within an epoch when its order changes.
///
/// They are in the rest of the epoch in which `after` begins, although `before` had used them in that epoch
/// before it reached `source_position`. About the same number of tokens of that epoch are then never used,
/// because the length of an epoch does not change.
///
/// \param part   part of both orders with the same tokens
/// \param source_position  position in that part
RepeatedTokens repeated_tokens(const TrainingOrder& before,
                               int part_before,
                               const SourcePosition& source_position,
                               const TrainingOrder& after,
                               int part_after);

}  // namespace ziggurat::data
