/// The Gaussian error linear unit of one element, in both forms.
#pragma once

#include <cmath>

#include "base/element.hpp"
#include "kernels/element/vector_math.hpp"

namespace ziggurat::kernels {

/// GELU in tanh form: x times 1/2 (1 + tanh(z)).
///
/// The factor is the sigmoid of 2 z, which needs one exponential and one division.
struct TanhGelu {
    static constexpr float linear = 1.59576912161f;   ///< 2 sqrt(2 / pi)
    static constexpr float cubic = 0.0713548162726f;  ///< 0.044715 times `linear`

    ZG_ELEMENT static float gate(float x) noexcept {
        return sigmoid_base2(x * std::fma(x * x, cubic * log2_of_e, linear * log2_of_e));
    }
    ZG_ELEMENT static float derivative(float x) noexcept { return derivative(x, gate(x)); }
    /// \param s  gate(x)
    ZG_ELEMENT static float derivative(float x, float s) noexcept {
        return std::fma(x * s * (1.0f - s), std::fma(x * x, 3 * cubic, linear), s);
    }
};

/// GELU in exact form: x times the normal distribution function, whose derivative is the density.
struct ErfGelu {
    static constexpr float one_over_sqrt_2 = 0.70710678f;
    static constexpr float one_over_sqrt_2_pi = 0.39894228f;

    ZG_ELEMENT static float gate(float x) noexcept {
        return std::fma(0.5f, error_function(x * one_over_sqrt_2), 0.5f);
    }
    ZG_ELEMENT static float derivative(float x) noexcept {
        const float density = one_over_sqrt_2_pi * exp2_not_large(x * x * (-0.5f * log2_of_e));
        return std::fma(x, density, gate(x));
    }
};

}  // namespace ziggurat::kernels
