/// RMS norm of one row: of a token, or of a head; only *_host.cpp files include it.
#pragma once

#include <cmath>
#include <cstdint>

#include "tensor/bfloat16.hpp"

namespace ziggurat::kernels::host {

/// Returns 1 / rms of a row.
template <class T>
float inverse_rms(const T* x, float epsilon, std::int64_t width) {
    float squares = 0;
#pragma omp simd reduction(+ : squares)
    for (std::int64_t c = 0; c < width; ++c) {
        squares = std::fma(float(x[c]), float(x[c]), squares);
    }
    return 1.0f / std::sqrt(squares / float(width) + epsilon);
}

/// Normalizes a row. Returns 1 / rms.
template <class T>
float normalize_row(const T* x, const T* gain, float gain_offset, float epsilon, T* y, std::int64_t width) {
    const float inv_rms = inverse_rms(x, epsilon, width);
#pragma omp simd
    for (std::int64_t c = 0; c < width; ++c) {
        tensor::store(y[c], float(x[c]) * inv_rms * (gain_offset + float(gain[c])));
    }
    return inv_rms;
}

/// Adds the gradient of gain from one row to its partial row.
///
/// Returns the mean of dy * (gain_offset + gain) * n, where n is the normalized row.
template <class T>
float mean_projection(const T* x,
                      const T* dy,
                      const T* gain,
                      float gain_offset,
                      float inv_rms,
                      float* d_gain,
                      std::int64_t width) {
    float projection = 0;
#pragma omp simd reduction(+ : projection)
    for (std::int64_t c = 0; c < width; ++c) {
        const float g = float(dy[c]);
        const float normalized = float(x[c]) * inv_rms;
        d_gain[c] = std::fma(g, normalized, d_gain[c]);
        projection = std::fma(g * (gain_offset + float(gain[c])), normalized, projection);
    }
    return projection / float(width);
}

/// Returns the gradient of one normalized element, before its factor inv_rms.
///
/// \param gain  with its offset
inline float through_norm(float x, float dy, float gain, float inv_rms, float projection) {
    return std::fma(-(x * inv_rms), projection, dy * gain);
}

}  // namespace ziggurat::kernels::host
