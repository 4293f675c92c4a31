/// Sums over addends of two kinds: inputs of members, and partial sums of whole ranges.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "comm/node/shared_sum.hpp"
#include "spec/dtype.hpp"

namespace ziggurat::comm {

/// Vector to be added.
struct Addend {
    const std::byte* at = nullptr;
    spec::DType type = spec::DType::f32;
    bool begins_run = false;  ///< true for the first addend
};

/// Computes output[i] = sum over ranges of (sum over the range's addends), each from left to right.
///
/// It does so for the elements i in [begin, end). This is `fold`, except that some ranges may be summed
/// already.
///
/// Shapes:    addends [addends][elements] of their types, output [elements] of `type`
/// Numerics:  fp32, rounded once to `type`; a single addend of that type is copied bit for bit
/// Aliasing:  output may be one of the addends of its own type
void sum_runs(std::span<const Addend> addends,
              std::byte* output,
              spec::DType type,
              std::int64_t begin,
              std::int64_t end,
              Stores stores = Stores::ordinary);

}  // namespace ziggurat::comm
