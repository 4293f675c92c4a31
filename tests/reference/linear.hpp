/// The products of a linear layer in double precision.
#pragma once

#include <cstddef>
#include <vector>

namespace ziggurat::reference {

/// Returns y [rows][out] for x [rows][in], w [out][in], and bias [out] or empty.
inline std::vector<double> linear(const std::vector<double>& x,
                                  const std::vector<double>& w,
                                  const std::vector<double>& bias,
                                  std::size_t in) {
    const std::size_t rows = x.size() / in;
    const std::size_t out = w.size() / in;
    std::vector<double> y(rows * out);
    for (std::size_t r = 0; r < rows; ++r) {
        for (std::size_t o = 0; o < out; ++o) {
            double sum = bias.empty() ? 0 : bias[o];
            for (std::size_t i = 0; i < in; ++i) {
                sum += x[r * in + i] * w[o * in + i];
            }
            y[r * out + o] = sum;
        }
    }
    return y;
}

/// Adds the gradients of sum(y * dy) to dx [rows][in] and dw [out][in].
inline void linear_backward(const std::vector<double>& x,
                            const std::vector<double>& w,
                            const std::vector<double>& dy,
                            std::size_t in,
                            std::vector<double>& dx,
                            std::vector<double>& dw) {
    const std::size_t out = w.size() / in;
    for (std::size_t r = 0; r < x.size() / in; ++r) {
        for (std::size_t o = 0; o < out; ++o) {
            for (std::size_t i = 0; i < in; ++i) {
                dx[r * in + i] += dy[r * out + o] * w[o * in + i];
                dw[o * in + i] += dy[r * out + o] * x[r * in + i];
            }
        }
    }
}

}  // namespace ziggurat::reference
