#include "kernels/layer_norm.hpp"

#include "kernels/cuda/norm_gradients_cuda.hpp"
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
                              NormSums& sums,
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
    const float mean = block_sum(sum, sums) / float(width);
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
    const float inv_std = 1.0f / std::sqrt(block_sum(squares, sums) / float(width) + epsilon);
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
__global__ void __launch_bounds__(most_row_threads) normalize(const T* x,
                                                              const T* gain,
                                                              const T* bias,
                                                              float epsilon,
                                                              bool is_aligned,
                                                              std::int64_t width,
                                                              T* y,
                                                              float* mean,
                                                              float* inv_std) {
    __shared__ NormSums sums;
    const std::int64_t row = blockIdx.x;
    normalize_row(x + row * width, gain, bias, epsilon, is_aligned, width, sums, y + row * width, mean + row,
                  inv_std + row);
}

template <class T>
__global__ void __launch_bounds__(most_row_threads) add_and_normalize(const T* x,
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
    __shared__ NormSums sums;
    const std::int64_t row = blockIdx.x;
    const auto at = row * width;
    add_branch_row(DropoutPacks{dropout}, row, width, is_aligned, x + at, branch + at, x_out + at);
    normalize_row<T>(x_out + at, gain, bias, epsilon, is_aligned, width, sums, y + at, mean + row,
                     inv_std + row);
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
    launch_grid(stream, "layer_norm_forward", rows_grid(x.extent(0), width), normalize<T>, x.data, gain.data,
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
    launch_grid(stream, "residual_layer_norm_forward", rows_grid(x.extent(0), width), add_and_normalize<T>,
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
    norm_backward<true, T>(stream, "layer_norm_backward", x, dy, gain, mean, inv_std, dx, d_gain, d_bias,
                           accumulate, workspace);
}

ZG_CUDA_SIBLING(layer_norm_forward<float>);
ZG_CUDA_SIBLING(layer_norm_forward<tensor::bfloat16>);
ZG_CUDA_SIBLING(residual_layer_norm_forward<float>);
ZG_CUDA_SIBLING(residual_layer_norm_forward<tensor::bfloat16>);
ZG_CUDA_SIBLING(layer_norm_backward<float>);
ZG_CUDA_SIBLING(layer_norm_backward<tensor::bfloat16>);

}  // namespace ziggurat::kernels::cuda
