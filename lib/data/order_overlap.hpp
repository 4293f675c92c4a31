/// Overlap of two orders of training samples, of which one goes on from the other.
#pragma once

#include <cstdint>

#include "data/sample_order.hpp"

namespace ziggurat::data {

struct RepeatedTokens {
    std::int64_t tokens = 0;
    bool is_exact = true;  ///< false: found in an even sample of all
};

/// Tokens that `after` brings in what is left of the epoch in which it begins, though `before` had passed
/// them in that epoch when it came to `place`. About as many of that epoch are then passed over, since an
/// epoch has as many as ever.
///
/// \param part   of both orders: the same tokens
/// \param place  in that part
RepeatedTokens repeated_tokens(const TrainingOrder& before,
                               int part_before,
                               const SourcePlace& place,
                               const TrainingOrder& after,
                               int part_after);

}  // namespace ziggurat::data
