/// Gated linear units of one element, and their derivatives with respect to their two inputs.
///
/// `Form` is Silu (SwiGLU) or TanhGelu (GEGLU): its function is x times gate(x).
#pragma once

#include <cmath>

#include "base/element.hpp"
#include "kernels/element/vector_math.hpp"

namespace ziggurat::kernels {

/// SiLU: x times the sigmoid of x.
struct Silu {
    ZG_ELEMENT static float gate(float x) noexcept { return sigmoid(x); }
    /// \param s  gate(x)
    ZG_ELEMENT static float derivative(float x, float s) noexcept { return std::fma(x * s, 1.0f - s, s); }
};

/// \param s  Form::gate(gate)
ZG_ELEMENT inline float glu(float gate, float s, float up) noexcept {
    return gate * s * up;
}

/// Returns dy times the derivative with respect to `up`. \param s  Form::gate(gate)
ZG_ELEMENT inline float glu_d_up(float gate, float s, float dy) noexcept {
    return dy * (gate * s);
}

/// Returns dy times the derivative with respect to `gate`. \param s  Form::gate(gate)
template <class Form>
ZG_ELEMENT inline float glu_d_gate(float gate, float s, float up, float dy) noexcept {
    return dy * up * Form::derivative(gate, s);
}

}  // namespace ziggurat::kernels
