#include "kernels/layer_norm.hpp"

#include "kernels/cuda/column_sums_cuda.hpp"
#include "kernels/cuda/norm_rows_cuda.hpp"
#include "kernels/cuda/sibling_cuda.hpp"

namespace ziggurat::kernels::cuda {
namespace {

using tensor::TensorRef;

template <class T>
__device__ void normalize_row(const T* x,
                              const T* gain,
                              const T* bias,
                              float epsilon,
                              bool is_aligned,
                              std::int64_t width,
                              float (&sums)[norm_threads / warp_size],
                              T* y,
                              float* mean_of_row,
                              float* inv_std_of_row) {
    float sum = 0;
    for_own_packs(width, [&](std::int64_t begin, int count) {
        float value[pack];
        load_some(x + begin, count, is_aligned, value);
#pragma unroll
        for (int i = 0; i < pack; ++i) {
            sum += value[i];  // zeros behind the row's end
        }
    });
    const float mean = block_sum<norm_threads>(sum, sums) / float(width);
    float squares = 0;
    for_own_packs(width, [&](std::int64_t begin, int count) {
        float value[pack];
        load_some(x + begin, count, is_aligned, value);
#pragma unroll
        for (int i = 0; i < pack; ++i) {
            const float difference = i < count ? value[i] - mean : 0.0f;
            squares = std::fma(difference, difference, squares);
        }
    });
    const float inv_std = 1.0f / std::sqrt(block_sum<norm_threads>(squares, sums) / float(width) + epsilon);
    for_own_packs(width, [&](std::int64_t begin, int count) {
        float value[pack], factor[pack], shift[pack];
        load_some(x + begin, count, is_aligned, value);
        load_some(gain + begin, count, is_aligned, factor);
        load_some(bias + begin, count, is_aligned, shift);
#pragma unroll
        for (int i = 0; i < pack; ++i) {
            value[i] = std::fma((value[i] - mean) * inv_std, factor[i], shift[i]);
        }
        store_some(y + begin, count, is_aligned, value);
    });
    if (threadIdx.x == 0) {
        *mean_of_row = mean;
        *inv_std_of_row = inv_std;
    }
}

template <class T>
__global__ void __launch_bounds__(norm_threads) normalize(const T* x,
                                                          const T* gain,
                                                          const T* bias,
                                                          float epsilon,
                                                          bool is_aligned,
                                                          std::int64_t width,
                                                          T* y,
                                                          float* mean,
                                                          float* inv_std) {
    __shared__ float sums[norm_threads / warp_size];
    const std::int64_t row = blockIdx.x;
    normalize_row(x + row * width, gain, bias, epsilon, is_aligned, width, sums, y + row * width, mean + row,
                  inv_std + row);
}

template <class T>
__global__ void __launch_bounds__(norm_threads) add_and_normalize(const T* x,
                                                                  const T* branch,
                                                                  ReadableDropout dropout,
                                                                  const T* gain,
                                                                  const T* bias,
                                                                  float epsilon,
                                                                  bool is_aligned,
                                                                  std::int64_t width,
                                                                  T* x_out,
                                                                  T* y,
                                                                  float* mean,
                                                                  float* inv_std) {
    __shared__ float sums[norm_threads / warp_size];
    const std::int64_t row = blockIdx.x;
    const auto at = row * width;
    add_branch_row(DropoutPacks{dropout}, row, width, is_aligned, x + at, branch + at, x_out + at);
    normalize_row<T>(x_out + at, gain, bias, epsilon, is_aligned, width, sums, y + at, mean + row,
                     inv_std + row);
}

template <class T>
__global__ void __launch_bounds__(norm_threads) add_gradient(const T* x,
                                                             const T* dy,
                                                             const T* gain,
                                                             const float* means,
                                                             const float* inv_stds,
                                                             bool is_aligned,
                                                             std::int64_t width,
                                                             T* dx) {
    __shared__ float sums[norm_threads / warp_size];
    const std::int64_t row = blockIdx.x;
    const auto at = row * width;
    const float mean = means[row];
    const float inv_std = inv_stds[row];
    float sum = 0;         // of dy * gain
    float projection = 0;  // of dy * gain on the normalized row
    for_own_packs(width, [&](std::int64_t begin, int count) {
        float value[pack], g[pack], factor[pack];
        load_some(x + at + begin, count, is_aligned, value);
        load_some(dy + at + begin, count, is_aligned, g);
        load_some(gain + begin, count, is_aligned, factor);
#pragma unroll
        for (int i = 0; i < pack; ++i) {
            const float scaled = g[i] * factor[i];  // 0 behind the row's end
            sum += scaled;
            projection = std::fma(scaled, (value[i] - mean) * inv_std, projection);
        }
    });
    const float mean_sum = block_sum<norm_threads>(sum, sums) / float(width);
    const float mean_projection = block_sum<norm_threads>(projection, sums) / float(width);
    for_own_packs(width, [&](std::int64_t begin, int count) {
        float value[pack], g[pack], factor[pack], total[pack];
        load_some(x + at + begin, count, is_aligned, value);
        load_some(dy + at + begin, count, is_aligned, g);
        load_some(gain + begin, count, is_aligned, factor);
        load_some(dx + at + begin, count, is_aligned, total);
#pragma unroll
        for (int i = 0; i < pack; ++i) {
            const float normalized = (value[i] - mean) * inv_std;
            const float centred = g[i] * factor[i] - mean_sum;  // rounded as above: 0 for equal terms
            total[i] = std::fma(inv_std, std::fma(-normalized, mean_projection, centred), total[i]);
        }
        store_some(dx + at + begin, count, is_aligned, total);
    });
}

/// Sum 0 is the gain's, 1 the bias'.
template <class T>
__global__ void __launch_bounds__(256)
    sum_gradients(ColumnSums sums, const T* x, const T* dy, const float* mean, const float* inv_std) {
    const auto block = sums.block();
    const auto column = sums.column();
    if (block >= ColumnSums::blocks) {
        return;
    }
    float gain = 0;
    float bias = 0;
    for (auto row = sums.first_row(block); row < sums.first_row(block + 1); ++row) {
        const auto at = row * sums.width + column;
        const float g = float(dy[at]);
        gain = std::fma(g, (float(x[at]) - mean[row]) * inv_std[row], gain);
        bias += g;
    }
    sums.partial(block, 0, column) = gain;
    sums.partial(block, 1, column) = bias;
}

}  // namespace

template <class T>
void layer_norm_forward(const device::Stream& stream,
                        TensorRef<const T, 2> x,
                        TensorRef<const T, 1> gain,
                        TensorRef<const T, 1> bias,
                        float epsilon,
                        TensorRef<T, 2> y,
                        TensorRef<float, 1> mean,
                        TensorRef<float, 1> inv_std) {
    const auto width = x.extent(1);
    launch_grid(stream, "layer_norm_forward", {x.extent(0), norm_threads}, normalize<T>, x.data, gain.data,
                bias.data, epsilon, are_rows_aligned(width, x.data, gain.data, bias.data, y.data), width,
                y.data, mean.data, inv_std.data);
}

template <class T>
void residual_layer_norm_forward(const device::Stream& stream,
                                 TensorRef<const T, 2> x,
                                 TensorRef<const T, 2> branch,
                                 const ReadableDropout& dropout,
                                 TensorRef<const T, 1> gain,
                                 TensorRef<const T, 1> bias,
                                 float epsilon,
                                 TensorRef<T, 2> x_out,
                                 TensorRef<T, 2> y,
                                 TensorRef<float, 1> mean,
                                 TensorRef<float, 1> inv_std) {
    const auto width = x.extent(1);
    launch_grid(stream, "residual_layer_norm_forward", {x.extent(0), norm_threads}, add_and_normalize<T>,
                x.data, branch.data, dropout, gain.data, bias.data, epsilon,
                are_rows_aligned(width, x.data, branch.data, gain.data, bias.data, x_out.data, y.data), width,
                x_out.data, y.data, mean.data, inv_std.data);
}

template <class T>
void layer_norm_backward(const device::Stream& stream,
                         TensorRef<const T, 2> x,
                         TensorRef<const T, 2> dy,
                         TensorRef<const T, 1> gain,
                         TensorRef<const float, 1> mean,
                         TensorRef<const float, 1> inv_std,
                         TensorRef<T, 2> dx,
                         TensorRef<float, 1> d_gain,
                         TensorRef<float, 1> d_bias,
                         Accumulate accumulate,
                         std::span<std::byte> workspace) {
    const auto width = x.extent(1);
    const ColumnSums sums{x.extent(0), width, workspace};
    launch_grid(stream, "layer_norm_backward", {x.extent(0), norm_threads}, add_gradient<T>, x.data, dy.data,
                gain.data, mean.data, inv_std.data,
                are_rows_aligned(width, x.data, dy.data, gain.data, dx.data), width, dx.data);
    if (d_gain.empty() && d_bias.empty()) {
        return;
    }
    launch_grid(stream, "layer_norm_backward of gain and bias", sums.grid(), sum_gradients<T>, sums, x.data,
                dy.data, mean.data, inv_std.data);
    finish(stream, sums, 0, accumulate, d_gain);
    finish(stream, sums, 1, accumulate, d_bias);
}

ZG_CUDA_SIBLING(layer_norm_forward<float>);
ZG_CUDA_SIBLING(layer_norm_forward<tensor::bfloat16>);
ZG_CUDA_SIBLING(residual_layer_norm_forward<float>);
ZG_CUDA_SIBLING(residual_layer_norm_forward<tensor::bfloat16>);
ZG_CUDA_SIBLING(layer_norm_backward<float>);
ZG_CUDA_SIBLING(layer_norm_backward<tensor::bfloat16>);

}  // namespace ziggurat::kernels::cuda
