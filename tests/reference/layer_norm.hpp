/// Layer normalization in double precision, written for readability.
#pragma once

#include <cmath>
#include <cstddef>
#include <vector>

namespace ziggurat::reference {

struct RowStatistics {
    double mean = 0;
    double inv_std = 0;
};

inline RowStatistics layer_norm_statistics(const double* x, std::size_t width, double epsilon) {
    double mean = 0;
    for (std::size_t c = 0; c < width; ++c) {
        mean += x[c] / double(width);
    }
    double variance = 0;
    for (std::size_t c = 0; c < width; ++c) {
        variance += (x[c] - mean) * (x[c] - mean) / double(width);
    }
    return {mean, 1 / std::sqrt(variance + epsilon)};
}

inline std::vector<double> layer_norm(const std::vector<double>& x,
                                      const std::vector<double>& gain,
                                      const std::vector<double>& bias,
                                      double epsilon) {
    const auto width = gain.size();
    std::vector<double> y(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) {
        const auto c = i % width;
        const auto [mean, inv_std] = layer_norm_statistics(&x[i - c], width, epsilon);
        y[i] = gain[c] * (x[i] - mean) * inv_std + bias[c];
    }
    return y;
}

struct LayerNormGradients {
    std::vector<double> x, gain, bias;
};

/// With n the normalized row and h = dy * gain: dx = inv_std * (h - mean(h) - n * mean(h * n)).
inline LayerNormGradients layer_norm_backward(const std::vector<double>& x,
                                              const std::vector<double>& dy,
                                              const std::vector<double>& gain,
                                              double epsilon) {
    const auto width = gain.size();
    LayerNormGradients d{std::vector<double>(x.size()), std::vector<double>(width),
                         std::vector<double>(width)};
    for (std::size_t row = 0; row < x.size(); row += width) {
        const auto [mean, inv_std] = layer_norm_statistics(&x[row], width, epsilon);
        double mean_h = 0;
        double mean_hn = 0;
        for (std::size_t c = 0; c < width; ++c) {
            const double n = (x[row + c] - mean) * inv_std;
            d.gain[c] += dy[row + c] * n;
            d.bias[c] += dy[row + c];
            mean_h += dy[row + c] * gain[c] / double(width);
            mean_hn += dy[row + c] * gain[c] * n / double(width);
        }
        for (std::size_t c = 0; c < width; ++c) {
            const double n = (x[row + c] - mean) * inv_std;
            d.x[row + c] = inv_std * (dy[row + c] * gain[c] - mean_h - n * mean_hn);
        }
    }
    return d;
}

}  // namespace ziggurat::reference
