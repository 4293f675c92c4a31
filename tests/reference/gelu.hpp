/// GELU in its tanh form and in its exact form, in double precision.
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

inline double gelu_erf(double x) {
    return 0.5 * x * std::erfc(-x / std::numbers::sqrt2);
}

inline double gelu_erf_derivative(double x) {
    const double density = std::exp(-x * x / 2) / std::sqrt(2 * std::numbers::pi);
    return 0.5 * std::erfc(-x / std::numbers::sqrt2) + x * density;
}

}  // namespace ziggurat::reference
