/// SwiGLU in double precision.
#pragma once

#include <cmath>
#include <cstddef>
#include <vector>

namespace ziggurat::reference {

inline double logistic(double z) {
    return 1 / (1 + std::exp(-z));
}

/// A row of x is `width` gate values, then `width` up values.
inline std::vector<double> swiglu(const std::vector<double>& x, std::size_t width) {
    std::vector<double> y(x.size() / 2);
    for (std::size_t i = 0; i < y.size(); ++i) {
        const double gate = x[i / width * 2 * width + i % width];
        const double up = x[i / width * 2 * width + i % width + width];
        y[i] = gate * logistic(gate) * up;
    }
    return y;
}

inline std::vector<double> swiglu_backward(const std::vector<double>& x,
                                           const std::vector<double>& dy,
                                           std::size_t width) {
    std::vector<double> dx(x.size());
    for (std::size_t i = 0; i < dy.size(); ++i) {
        const auto at_gate = i / width * 2 * width + i % width;
        const double gate = x[at_gate];
        const double up = x[at_gate + width];
        const double s = logistic(gate);
        dx[at_gate] = dy[i] * up * (s + gate * s * (1 - s));
        dx[at_gate + width] = dy[i] * gate * s;
    }
    return dx;
}

}  // namespace ziggurat::reference
