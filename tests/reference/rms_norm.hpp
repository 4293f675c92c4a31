/// Root-mean-square normalization in double precision, written for readability.
#pragma once

#include <cmath>
#include <cstddef>
#include <vector>

namespace ziggurat::reference {

inline double inverse_rms(const double* x, std::size_t width, double epsilon) {
    double mean_square = 0;
    for (std::size_t c = 0; c < width; ++c) {
        mean_square += x[c] * x[c] / double(width);
    }
    return 1 / std::sqrt(mean_square + epsilon);
}

inline std::vector<double> rms_norm(const std::vector<double>& x,
                                    const std::vector<double>& gain,
                                    double epsilon) {
    const auto width = gain.size();
    std::vector<double> y(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) {
        const auto c = i % width;
        y[i] = gain[c] * x[i] * inverse_rms(&x[i - c], width, epsilon);
    }
    return y;
}

struct RmsNormGradients {
    std::vector<double> x, gain;
};

/// With n the normalized row and h = dy * gain: dx = inv_rms * (h - n * mean(h * n)).
inline RmsNormGradients rms_norm_backward(const std::vector<double>& x,
                                          const std::vector<double>& dy,
                                          const std::vector<double>& gain,
                                          double epsilon) {
    const auto width = gain.size();
    RmsNormGradients d{std::vector<double>(x.size()), std::vector<double>(width)};
    for (std::size_t row = 0; row < x.size(); row += width) {
        const double inv_rms = inverse_rms(&x[row], width, epsilon);
        double mean_hn = 0;
        for (std::size_t c = 0; c < width; ++c) {
            const double n = x[row + c] * inv_rms;
            d.gain[c] += dy[row + c] * n;
            mean_hn += dy[row + c] * gain[c] * n / double(width);
        }
        for (std::size_t c = 0; c < width; ++c) {
            d.x[row + c] = inv_rms * (dy[row + c] * gain[c] - x[row + c] * inv_rms * mean_hn);
        }
    }
    return d;
}

}  // namespace ziggurat::reference
