#include <algorithm>
#include <cmath>

#include "kernels/host/column_sum_blocks_host.hpp"
#include "kernels/host/kernel_backend_host.hpp"
#include "kernels/norm/split_norm.hpp"
#include "tensor/bfloat16.hpp"

namespace ziggurat::kernels::host {
namespace {

using tensor::TensorRef;

/// Mean and reciprocal of the standard deviation of a row, from its sums.
struct RowStatistics {
    float mean = 0;
    float inv_std = 0;

    RowStatistics(const SplitNorm& norm, TensorRef<const float, 2> sums, std::int64_t row) {
        const auto width = static_cast<float>(norm.width);
        const bool has_mean = sums.extent(1) == 2;
        mean = has_mean ? sums.row(row)[0] / width : 0.0f;
        const float mean_square = sums.row(row)[has_mean ? 1 : 0] / width;
        inv_std = 1.0f / std::sqrt(std::max(0.0f, std::fma(-mean, mean, mean_square)) + norm.epsilon);
    }
};

/// Computes the gradient of a row's part for constant sums.
///
/// Adds the gradients of gain and bias to partial rows.
/// Writes this rank's summands of the gradients of the sums, if `d_sums` is not nullptr.
template <class T>
void backward_part(const SplitNorm& norm,
                   const RowStatistics& statistics,
                   bool has_mean,
                   const T* x,
                   const T* dy,
                   const T* gain,
                   T* dx,
                   bool adds,
                   float* d_sums,
                   float* d_gain,
                   float* d_bias,
                   std::int64_t part) {
    const float mean = statistics.mean;
    const float inv_std = statistics.inv_std;
    float sum = 0;         // of dy * gain
    float projection = 0;  // of dy * gain on the row without its mean
#pragma omp simd reduction(+ : sum, projection)
    for (std::int64_t c = 0; c < part; ++c) {
        const float g = float(dy[c]);
        const float centred = float(x[c]) - mean;
        const float scaled = g * (float(gain[c]) + norm.gain_offset);
        d_bias[c] += g;
        d_gain[c] = std::fma(g, centred * inv_std, d_gain[c]);
        sum += scaled;
        projection = std::fma(scaled, centred, projection);
        tensor::store(dx[c], std::fma(inv_std, scaled, adds ? float(dx[c]) : 0.0f));
    }
    if (d_sums == nullptr) {
        return;
    }
    const auto width = static_cast<float>(norm.width);
    const float of_squares = -0.5f * inv_std * inv_std * inv_std * projection / width;
    if (has_mean) {
        d_sums[0] = -inv_std * sum / width - 2 * mean * of_squares;
    }
    d_sums[has_mean ? 1 : 0] = of_squares;
}

}  // namespace

template <class T>
void row_sums(const device::Stream&, TensorRef<const T, 2> x, TensorRef<float, 2> sums) {
    const bool has_mean = sums.extent(1) == 2;
    for_rows("ziggurat::row_sums", x.extent(0), [=](std::int64_t row) {
        const T* values = x.row(row);
        float sum = 0;
        float squares = 0;
#pragma omp simd reduction(+ : sum, squares)
        for (std::int64_t c = 0; c < x.extent(1); ++c) {
            sum += float(values[c]);
            squares = std::fma(float(values[c]), float(values[c]), squares);
        }
        sums.row(row)[0] = has_mean ? sum : squares;
        if (has_mean) {
            sums.row(row)[1] = squares;
        }
    });
}

template <class T>
void row_sums_backward(const device::Stream&,
                       TensorRef<const T, 2> x,
                       TensorRef<const float, 2> d_sums,
                       TensorRef<T, 2> dx) {
    const bool has_mean = d_sums.extent(1) == 2;
    for_rows("ziggurat::row_sums_backward", x.extent(0), [=](std::int64_t row) {
        const float of_sum = has_mean ? d_sums.row(row)[0] : 0.0f;
        const float of_squares = 2 * d_sums.row(row)[has_mean ? 1 : 0];
        const T* values = x.row(row);
        T* gradient = dx.row(row);
#pragma omp simd
        for (std::int64_t c = 0; c < x.extent(1); ++c) {
            tensor::store(gradient[c], float(gradient[c]) + std::fma(float(values[c]), of_squares, of_sum));
        }
    });
}

template <class T>
void split_norm_forward(const device::Stream&,
                        const SplitNorm& norm,
                        TensorRef<const T, 2> x,
                        TensorRef<const float, 2> sums,
                        TensorRef<const T, 1> gain,
                        TensorRef<const T, 1> bias,
                        TensorRef<T, 2> y) {
    for_rows("ziggurat::split_norm_forward", x.extent(0), [=](std::int64_t row) {
        const RowStatistics statistics{norm, sums, row};
        const T* values = x.row(row);
        T* normalized = y.row(row);
        const bool has_bias = !bias.empty();
#pragma omp simd
        for (std::int64_t c = 0; c < x.extent(1); ++c) {
            tensor::store(normalized[c], std::fma((float(values[c]) - statistics.mean) * statistics.inv_std,
                                                  float(gain.data[c]) + norm.gain_offset,
                                                  has_bias ? float(bias.data[c]) : 0.0f));
        }
    });
}

template <class T>
void split_norm_backward(const device::Stream&,
                         const SplitNorm& norm,
                         TensorRef<const T, 2> x,
                         TensorRef<const T, 2> dy,
                         TensorRef<const float, 2> sums,
                         TensorRef<const T, 1> gain,
                         TensorRef<T, 2> dx,
                         Accumulate add_to_dx,
                         TensorRef<float, 2> d_sums,
                         TensorRef<float, 1> d_gain,
                         TensorRef<float, 1> d_bias,
                         Accumulate accumulate,
                         std::span<std::byte> workspace) {
    const bool has_mean = sums.extent(1) == 2;
    const bool adds = add_to_dx == Accumulate::yes;
    const ColumnSumBlocks blocks{x.extent(0), x.extent(1), workspace};
    blocks.for_each("ziggurat::split_norm_backward", [=](std::int64_t begin, std::int64_t end,
                                                         float* gain_sums, float* bias_sums) {
        for (auto row = begin; row < end; ++row) {
            backward_part(norm, {norm, sums, row}, has_mean, x.row(row), dy.row(row), gain.data, dx.row(row),
                          adds, d_sums.empty() ? nullptr : d_sums.row(row), gain_sums, bias_sums,
                          x.extent(1));
        }
    });
    if (!d_gain.empty()) {
        blocks.finish(0, d_gain, accumulate);
    }
    if (!d_bias.empty()) {
        blocks.finish(1, d_bias, accumulate);
    }
}

ZG_REGISTER_HOST_KERNEL(row_sums<float>);
ZG_REGISTER_HOST_KERNEL(row_sums<tensor::bfloat16>);
ZG_REGISTER_HOST_KERNEL(row_sums_backward<float>);
ZG_REGISTER_HOST_KERNEL(row_sums_backward<tensor::bfloat16>);
ZG_REGISTER_HOST_KERNEL(split_norm_forward<float>);
ZG_REGISTER_HOST_KERNEL(split_norm_forward<tensor::bfloat16>);
ZG_REGISTER_HOST_KERNEL(split_norm_backward<float>);
ZG_REGISTER_HOST_KERNEL(split_norm_backward<tensor::bfloat16>);

}  // namespace ziggurat::kernels::host
