/// Fold: the order of sums whose bits every reduce-scatter and all-reduce must give.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "spec/dtype.hpp"

namespace ziggurat::comm {

/// Computes output[i] = sum over members of inputs[m][i].
///
/// With groups G0, G1, ... of `sum_group` consecutive members (the last may be shorter):
/// ((m0 + m1 + ...) over G0) + ((...) over G1) + ..., each bracket and the outer sum from left to right.
/// sum_group 0 or >= the number of members means one group; so does 1, arithmetically.
///
/// Shapes:    inputs [members][elements], output [elements], all of `type`
/// Numerics:  fp32, rounded once to `type`; a single member is copied bit for bit
/// Aliasing:  output may be one of the inputs
void fold(std::span<const std::byte* const> inputs,
          std::byte* output,
          std::int64_t elements,
          spec::DType type,
          int sum_group);

}  // namespace ziggurat::comm
