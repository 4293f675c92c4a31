/// SwiGLU of one element, and its derivatives by its two inputs.
#pragma once

#include <cmath>

#include "base/element.hpp"
#include "kernels/vector_math.hpp"

namespace ziggurat::kernels {

ZG_ELEMENT inline float swiglu(float gate, float up) noexcept {
    return gate * sigmoid(gate) * up;
}

/// d of the result by `up` times dy. \param s  sigmoid(gate)
ZG_ELEMENT inline float swiglu_d_up(float gate, float s, float dy) noexcept {
    return dy * (gate * s);
}

/// d of the result by `gate` times dy. \param s  sigmoid(gate)
ZG_ELEMENT inline float swiglu_d_gate(float gate, float s, float up, float dy) noexcept {
    return dy * up * std::fma(gate * s, 1.0f - s, s);
}

}  // namespace ziggurat::kernels
