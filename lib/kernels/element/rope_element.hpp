/// Rotation of a pair of channels (a, b) by an angle.
#pragma once

#include <cmath>

#include "base/element.hpp"

namespace ziggurat::kernels {

ZG_ELEMENT inline float turned_first(float a, float b, float cosine, float sine) noexcept {
    return std::fma(a, cosine, -b * sine);
}

ZG_ELEMENT inline float turned_second(float a, float b, float cosine, float sine) noexcept {
    return std::fma(b, cosine, a * sine);
}

}  // namespace ziggurat::kernels
