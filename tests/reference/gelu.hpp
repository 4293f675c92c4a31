/// The tanh form of GELU in double precision.
#pragma once

#include <cmath>
#include <numbers>

namespace ziggurat::reference {

inline double gelu(double x) {
    const double inner = std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x);
    return 0.5 * x * (1 + std::tanh(inner));
}

inline double gelu_derivative(double x) {
    const double inner = std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x);
    const double slope = std::sqrt(2 / std::numbers::pi) * (1 + 3 * 0.044715 * x * x);
    const double t = std::tanh(inner);
    return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * slope;
}

}  // namespace ziggurat::reference
