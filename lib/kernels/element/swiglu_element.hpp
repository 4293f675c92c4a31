/// SwiGLU of one element, and its derivatives with respect to its two inputs.
#pragma once

#include <cmath>

#include "base/element.hpp"
#include "kernels/element/vector_math.hpp"

namespace ziggurat::kernels {

ZG_ELEMENT inline float swiglu(float gate, float up) noexcept {
    return gate * sigmoid(gate) * up;
}

/// Returns dy times the derivative with respect to `up`. \param s  sigmoid(gate)
ZG_ELEMENT inline float swiglu_d_up(float gate, float s, float dy) noexcept {
    return dy * (gate * s);
}

/// Returns dy times the derivative with respect to `gate`. \param s  sigmoid(gate)
ZG_ELEMENT inline float swiglu_d_gate(float gate, float s, float up, float dy) noexcept {
    return dy * up * std::fma(gate * s, 1.0f - s, s);
}

}  // namespace ziggurat::kernels
