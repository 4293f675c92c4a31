/// Soft caps of single numbers: cap tanh(x / cap).
///
/// Source: Gemma Team, "Gemma 2: Improving Open Language Models at a Practical Size", 2024, section 2 (logit
/// soft-capping).
#pragma once

#include <cmath>

#include "base/element.hpp"
#include "kernels/element/vector_math.hpp"

namespace ziggurat::kernels {

/// Returns tanh(x), relative error below 3e-7; NaN stays NaN.
///
/// Below 0.625 it is x times a polynomial in x^2 (Moshier, Cephes, tanhf), above that 1 - 2 / (1 + e^2|x|).
ZG_ELEMENT inline float hyperbolic_tangent(float x) noexcept {
    const float t = std::fabs(x);
    const float s = x * x;
    float near = std::fma(-5.70498872745e-3f, s, 2.06390887954e-2f);
    near = std::fma(near, s, -5.37397155531e-2f);
    near = std::fma(near, s, 1.33314422036e-1f);
    near = std::fma(near, s, -3.33332819422e-1f);
    near = std::fma(near * s, x, x);
    // From 10 on, tanh is 1 in float.
    const float bounded = t > 10.0f ? 10.0f : t;
    const float far = std::copysign(1.0f - 2.0f / (1.0f + exp2_in_range(2.0f * log2_of_e * bounded)), x);
    return t > 0.625f ? far : near;
}

/// Converts a score or a logit to an exponent of 2, which is slope times what read() returns.
///
/// Without a cap, read() returns its argument. With a cap it returns tanh(inner x).
struct SoftcapReader {
    float inner = 0;  ///< 0: no cap
    float slope = 0;

    /// \param factor  of x, before the cap
    /// \param cap     0: none
    ZG_ELEMENT static constexpr SoftcapReader of(float factor, float cap) noexcept {
        return cap == 0 ? SoftcapReader{0, factor * log2_of_e} : SoftcapReader{factor / cap, cap * log2_of_e};
    }

    ZG_ELEMENT constexpr bool has_cap() const noexcept { return inner != 0; }
    ZG_ELEMENT float read(float x) const noexcept { return has_cap() ? hyperbolic_tangent(inner * x) : x; }
    /// Returns the derivative of factor x with its cap, divided by the factor.
    ///
    /// \param value  result of read(x)
    ZG_ELEMENT float derivative(float value) const noexcept {
        return has_cap() ? std::fma(-value, value, 1.0f) : 1.0f;
    }
};

}  // namespace ziggurat::kernels
