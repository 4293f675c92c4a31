#include <cmath>

#include "kernels/host/column_sum_blocks_host.hpp"
#include "kernels/host/dropout_host.hpp"
#include "kernels/host/kernel_backend_host.hpp"
#include "kernels/norm/layer_norm.hpp"
#include "tensor/bfloat16.hpp"

namespace ziggurat::kernels::host {
namespace {

using tensor::TensorRef;

struct Statistics {
    float mean;
    float inv_std;
};

/// Normalizes a row in three loops; after the first one, the row is in L1.
template <class T>
Statistics normalize_row(const T* x, const T* gain, const T* bias, float epsilon, T* y, std::int64_t width) {
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (std::int64_t c = 0; c < width; ++c) {
        sum += float(x[c]);
    }
    const float mean = sum / float(width);
    float squares = 0;
#pragma omp simd reduction(+ : squares)
    for (std::int64_t c = 0; c < width; ++c) {
        const float difference = float(x[c]) - mean;
        squares = std::fma(difference, difference, squares);
    }
    const float inv_std = 1.0f / std::sqrt(squares / float(width) + epsilon);
#pragma omp simd
    for (std::int64_t c = 0; c < width; ++c) {
        tensor::store(y[c], std::fma((float(x[c]) - mean) * inv_std, float(gain[c]), float(bias[c])));
    }
    return {mean, inv_std};
}

/// Adds the gradient through the norm of one row to dx, or writes it there.
///
/// Adds the gradients of gain and bias to their partial rows.
template <class T>
void backward_row(const T* x,
                  const T* dy,
                  const T* gain,
                  Statistics statistics,
                  T* dx,
                  Accumulate add_to_dx,
                  float* d_gain,
                  float* d_bias,
                  std::int64_t width) {
    const bool adds = add_to_dx == Accumulate::yes;
    const float mean = statistics.mean;
    const float inv_std = statistics.inv_std;
    float sum = 0;         // of dy * gain
    float projection = 0;  // of dy * gain on the normalized row
#pragma omp simd reduction(+ : sum, projection)
    for (std::int64_t c = 0; c < width; ++c) {
        const float g = float(dy[c]);
        const float normalized = (float(x[c]) - mean) * inv_std;
        const float scaled = g * float(gain[c]);
        d_bias[c] += g;
        d_gain[c] = std::fma(g, normalized, d_gain[c]);
        sum += scaled;
        projection = std::fma(scaled, normalized, projection);
    }
    const float mean_sum = sum / float(width);
    const float mean_projection = projection / float(width);
#pragma omp simd
    for (std::int64_t c = 0; c < width; ++c) {
        const float normalized = (float(x[c]) - mean) * inv_std;
        const float centred =
            float(dy[c]) * float(gain[c]) - mean_sum;  // rounded as above: 0 for equal terms
        tensor::store(dx[c], std::fma(inv_std, std::fma(-normalized, mean_projection, centred),
                                      adds ? float(dx[c]) : 0.0f));
    }
}

}  // namespace

template <class T>
void layer_norm_forward(const device::Stream&,
                        TensorRef<const T, 2> x,
                        TensorRef<const T, 1> gain,
                        TensorRef<const T, 1> bias,
                        float epsilon,
                        TensorRef<T, 2> y,
                        TensorRef<float, 1> mean,
                        TensorRef<float, 1> inv_std) {
    for_rows("ziggurat::layer_norm_forward", x.extent(0), [=](std::int64_t row) {
        const auto statistics =
            normalize_row(x.row(row), gain.data, bias.data, epsilon, y.row(row), x.extent(1));
        mean.data[row] = statistics.mean;
        inv_std.data[row] = statistics.inv_std;
    });
}

template <class T>
void residual_layer_norm_forward(const device::Stream&,
                                 TensorRef<const T, 2> x,
                                 TensorRef<const T, 2> branch,
                                 const DropoutView& dropout,
                                 TensorRef<const T, 1> gain,
                                 TensorRef<const T, 1> bias,
                                 float epsilon,
                                 TensorRef<T, 2> x_out,
                                 TensorRef<T, 2> y,
                                 TensorRef<float, 1> mean,
                                 TensorRef<float, 1> inv_std) {
    const DropoutRows dropped{dropout};
    for_rows("ziggurat::residual_layer_norm_forward", x.extent(0), [=](std::int64_t row) {
        const auto width = x.extent(1);
        T* sum = x_out.row(row);
        add_branch_row(x.row(row), branch.row(row), dropped, row, sum, width);
        const auto statistics = normalize_row<T>(sum, gain.data, bias.data, epsilon, y.row(row), width);
        mean.data[row] = statistics.mean;
        inv_std.data[row] = statistics.inv_std;
    });
}

template <class T>
void layer_norm_backward(const device::Stream&,
                         TensorRef<const T, 2> x,
                         TensorRef<const T, 2> dy,
                         TensorRef<const T, 1> gain,
                         TensorRef<const float, 1> mean,
                         TensorRef<const float, 1> inv_std,
                         TensorRef<T, 2> dx,
                         Accumulate add_to_dx,
                         TensorRef<float, 1> d_gain,
                         TensorRef<float, 1> d_bias,
                         Accumulate accumulate,
                         std::span<std::byte> workspace) {
    // The sums are computed even if they are not requested: dx then has the same bits, and they cost no
    // memory traffic.
    const ColumnSumBlocks blocks{x.extent(0), x.extent(1), workspace};
    blocks.for_each("ziggurat::layer_norm_backward", [=](std::int64_t begin, std::int64_t end,
                                                         float* gain_sums, float* bias_sums) {
        for (auto row = begin; row < end; ++row) {
            backward_row(x.row(row), dy.row(row), gain.data, {mean.data[row], inv_std.data[row]}, dx.row(row),
                         add_to_dx, gain_sums, bias_sums, x.extent(1));
        }
    });
    if (!d_gain.empty()) {
        blocks.finish(0, d_gain, accumulate);
    }
    if (!d_bias.empty()) {
        blocks.finish(1, d_bias, accumulate);
    }
}

ZG_REGISTER_HOST_KERNEL(layer_norm_forward<float>);
ZG_REGISTER_HOST_KERNEL(layer_norm_forward<tensor::bfloat16>);
ZG_REGISTER_HOST_KERNEL(residual_layer_norm_forward<float>);
ZG_REGISTER_HOST_KERNEL(residual_layer_norm_forward<tensor::bfloat16>);
ZG_REGISTER_HOST_KERNEL(layer_norm_backward<float>);
ZG_REGISTER_HOST_KERNEL(layer_norm_backward<tensor::bfloat16>);

}  // namespace ziggurat::kernels::host
