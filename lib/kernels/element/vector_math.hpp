/// Elementary functions in plain C++ that compilers vectorise under `omp simd`.
///
/// std::exp and std::tanh are scalar without -ffast-math. Every fused operation is an explicit std::fma, so
/// an element has the same bits in a vector, in a loop's tail and alone. Exponentials have base 2: callers
/// include log2(e) in a factor that they multiply by in any case. GPUs use their instructions for powers and
/// reciprocals, with errors of the same size but other bits.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

#include "base/element.hpp"

namespace ziggurat::kernels {

inline constexpr float log2_of_e = 1.44269504f;

/// Returns 2^t for t in [-125, 127], relative error below 2e-7; NaN stays NaN.
///
/// Uses a polynomial for the fraction of t on [-1/2, 1/2] and adds the integer part to the exponent field.
ZG_ELEMENT inline float exp2_in_range(float t) noexcept {
#ifdef __CUDA_ARCH__
    float power;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(t));
    return power;
#else
    const float shifted = t + 12582912.0f;  // + 1.5 * 2^23: the low bits are t rounded to an integer
    const float f = t - (shifted - 12582912.0f);
    float p = std::fma(0x1.5bb9f8p-10f, f, 0x1.3cea86p-7f);
    p = std::fma(p, f, 0x1.c6b754p-5f);
    p = std::fma(p, f, 0x1.ebf9bcp-3f);
    p = std::fma(p, f, 0x1.62e42ap-1f);
    p = std::fma(p, f, 1.0f);
    return std::bit_cast<float>(std::bit_cast<std::uint32_t>(p) +
                                (std::bit_cast<std::uint32_t>(shifted) << 23));
#endif
}

/// Returns 2^t for t <= 127. t below -125 counts as -125, on GPUs as minus infinity. NaN stays NaN.
ZG_ELEMENT inline float exp2_not_large(float t) noexcept {
#ifdef __CUDA_ARCH__
    return exp2_in_range(t);
#else
    return exp2_in_range(t < -125.0f ? -125.0f : t);
#endif
}

/// Returns 1 / (1 + 2^-t), absolute error below 3e-7. For NaN it returns a number.
///
/// Callers multiply the result by a value that is NaN too. -t is clamped by comparing floats as integers, one
/// instruction per side. As unsigned integers, negative floats are the largest, and larger the further they
/// are from zero. As signed integers, positive floats are the largest.
ZG_ELEMENT inline float sigmoid_base2(float t) noexcept {
#ifdef __CUDA_ARCH__
    float gate;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(gate) : "f"(1.0f + exp2_in_range(-t)));
    return gate;
#else
    constexpr auto lowest = std::bit_cast<std::uint32_t>(-125.0f);
    constexpr auto highest = std::bit_cast<std::int32_t>(126.0f);
    const auto above = std::min(std::bit_cast<std::uint32_t>(-t), lowest);
    const auto within = std::min(static_cast<std::int32_t>(above), highest);
    return 1.0f / (1.0f + exp2_in_range(std::bit_cast<float>(within)));
#endif
}

/// Returns 1 / (1 + e^-x); see sigmoid_base2.
ZG_ELEMENT inline float sigmoid(float x) noexcept {
    return sigmoid_base2(log2_of_e * x);
}

/// Returns erf(x), absolute error below 2e-7; NaN stays NaN.
///
/// Below 0.93 it is x times a polynomial in x^2, above that 1 - e^(a polynomial in |x|). Both are minimax
/// polynomials in float.
ZG_ELEMENT inline float error_function(float x) noexcept {
    const float t = std::fabs(x);
    const float s = x * x;
    float near = std::fma(-5.96761703e-4f, s, 4.99119423e-3f);
    near = std::fma(near, s, -2.67681349e-2f);
    near = std::fma(near, s, 1.12819925e-1f);
    near = std::fma(near, s, -3.76125336e-1f);
    near = std::fma(near, s, 1.28379166e-1f);
    near = std::fma(near, x, x);
    // For |x| > 4, erf is 1 in float.
    const float bounded = t > 4.0f ? 4.0f : t;
    const float square = bounded * bounded;
    const float low = std::fma(-1.72853470e-5f, bounded, 3.83197126e-4f);
    const float high = std::fma(-3.88396438e-3f, bounded, 2.42546219e-2f);
    float far = std::fma(low, square, high);
    far = std::fma(far, bounded, -1.06777877e-1f);
    far = std::fma(far, bounded, -6.34846687e-1f);
    far = std::fma(far, bounded, -1.28717512e-1f);
    far = std::fma(far, bounded, -bounded);
    far = std::copysign(1.0f - exp2_in_range(log2_of_e * far), x);
    return t > 0.927734375f ? far : near;
}

}  // namespace ziggurat::kernels
