/// Sums of squares in blocks of 256 elements, in the order of kernels/gradient_norm.hpp.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "base/exact_sum.hpp"

namespace ziggurat::kernels {

/// Elements whose squares are summed in double before they are added exactly.
inline constexpr std::int64_t square_block = 256;
/// Sums of a block that are folded in halves.
inline constexpr std::int64_t square_lanes = 32;

/// Returns the sum of squares of a whole block.
///
/// Lane j sums elements j, j + 32, ...; then the lanes are folded in halves.
template <class E>
double block_squares(const E* x) {
    double lane[square_lanes] = {};
    for (std::int64_t i = 0; i < square_block; i += square_lanes) {
#pragma omp simd
        for (std::int64_t j = 0; j < square_lanes; ++j) {
            const double element = float(x[i + j]);
            lane[j] = std::fma(element, element, lane[j]);
        }
    }
    for (std::int64_t half = square_lanes / 2; half > 0; half /= 2) {
#pragma omp simd
        for (std::int64_t j = 0; j < half; ++j) {
            lane[j] += lane[j + half];
        }
    }
    return lane[0];
}

/// Adds the squares of `count` elements. A short block is summed as if it were padded with zeros.
template <class E>
void add_squares(const E* x, std::int64_t count, ExactSum& into) {
    std::int64_t begin = 0;
    for (; begin + square_block <= count; begin += square_block) {
        into.add(block_squares(x + begin));
    }
    if (begin < count) {
        E rest[square_block] = {};
        std::copy_n(x + begin, count - begin, rest);
        into.add(block_squares(rest));
    }
}

}  // namespace ziggurat::kernels
