/// Elementary functions in plain C++ that a compiler vectorises under `omp simd`.
///
/// std::exp and std::tanh stay scalar without -ffast-math. Every fused operation is spelled std::fma, so an
/// element has the same bits in a vector, in a loop's tail and alone.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace ziggurat::kernels {

/// e^x, relative error below 2e-7; x is taken as -87 below that and as 88 above; NaN stays NaN.
///
/// Source: range reduction by ln 2 in two parts (Cody and Waite, "Software Manual for the Elementary
/// Functions", 1980, chapter 6), then a polynomial for 2^f on [-1/2, 1/2].
[[gnu::always_inline]] inline float exponential(float x) noexcept {
    x = x < -87.0f ? -87.0f : x;
    x = x > 88.0f ? 88.0f : x;
    const float shifted =
        std::fma(x, 1.44269504f, 12582912.0f);  // + 1.5 * 2^23: the low bits are round(x / ln 2)
    const float n = shifted - 12582912.0f;
    const float f = std::fma(n, 2.12194440e-4f, std::fma(n, -0.693359375f, x)) * 1.44269504f;
    float p = std::fma(0x1.5bb9f8p-10f, f, 0x1.3cea86p-7f);
    p = std::fma(p, f, 0x1.c6b754p-5f);
    p = std::fma(p, f, 0x1.ebf9bcp-3f);
    p = std::fma(p, f, 0x1.62e42ap-1f);
    p = std::fma(p, f, 1.0f);
    return std::bit_cast<float>(std::bit_cast<std::uint32_t>(p) +
                                (std::bit_cast<std::uint32_t>(shifted) << 23));
}

/// 1 / (1 + e^-x).
[[gnu::always_inline]] inline float sigmoid(float x) noexcept {
    return 1.0f / (1.0f + exponential(-x));
}

}  // namespace ziggurat::kernels
