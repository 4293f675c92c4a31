/// SwiGLU and GEGLU in double precision.
#pragma once

#include <cmath>
#include <cstddef>
#include <vector>

#include "tests/reference/gelu.hpp"

namespace ziggurat::reference {

inline double logistic(double z) {
    return 1 / (1 + std::exp(-z));
}

inline double silu(double z) {
    return z * logistic(z);
}

inline double silu_derivative(double z) {
    const double s = logistic(z);
    return s + z * s * (1 - s);
}

/// A row of x is `width` gate values, then `width` up values.
inline std::vector<double> glu(double (*activation)(double),
                               const std::vector<double>& x,
                               std::size_t width) {
    std::vector<double> y(x.size() / 2);
    for (std::size_t i = 0; i < y.size(); ++i) {
        const double gate = x[i / width * 2 * width + i % width];
        const double up = x[i / width * 2 * width + i % width + width];
        y[i] = activation(gate) * up;
    }
    return y;
}

inline std::vector<double> glu_backward(double (*activation)(double),
                                        double (*derivative)(double),
                                        const std::vector<double>& x,
                                        const std::vector<double>& dy,
                                        std::size_t width) {
    std::vector<double> dx(x.size());
    for (std::size_t i = 0; i < dy.size(); ++i) {
        const auto at_gate = i / width * 2 * width + i % width;
        const double gate = x[at_gate];
        dx[at_gate] = dy[i] * x[at_gate + width] * derivative(gate);
        dx[at_gate + width] = dy[i] * activation(gate);
    }
    return dx;
}

inline std::vector<double> swiglu(const std::vector<double>& x, std::size_t width) {
    return glu(silu, x, width);
}

inline std::vector<double> swiglu_backward(const std::vector<double>& x,
                                           const std::vector<double>& dy,
                                           std::size_t width) {
    return glu_backward(silu, silu_derivative, x, dy, width);
}

inline std::vector<double> geglu(const std::vector<double>& x, std::size_t width) {
    return glu(gelu, x, width);
}

inline std::vector<double> geglu_backward(const std::vector<double>& x,
                                          const std::vector<double>& dy,
                                          std::size_t width) {
    return glu_backward(gelu, gelu_derivative, x, dy, width);
}

}  // namespace ziggurat::reference
