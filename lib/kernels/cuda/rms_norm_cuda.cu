#include "kernels/rms_norm.hpp"

#include "kernels/cuda/norm_gradients_cuda.hpp"
#include "kernels/cuda/norm_rows_cuda.hpp"
#include "kernels/cuda/sibling_cuda.hpp"

namespace ziggurat::kernels::cuda {
namespace {

using tensor::TensorRef;

template <class T>
__device__ void normalize_row(const T* x,
                              const T* gain,
                              float epsilon,
                              bool is_aligned,
                              std::int64_t width,
                              NormSums& sums,
                              T* y,
                              float* inv_rms) {
    float squares = 0;
    for_own_packs(width, [&](std::int64_t begin, int count) {
        float value[pack];
        load_some(x + begin, count, is_aligned, value);
#pragma unroll
        for (int i = 0; i < pack; ++i) {
            squares = std::fma(value[i], value[i], squares);
        }
    });
    squares = block_sum(squares, sums);
    const float inverse = 1.0f / std::sqrt(squares / float(width) + epsilon);
    for_own_packs(width, [&](std::int64_t begin, int count) {
        float value[pack], factor[pack];
        load_some(x + begin, count, is_aligned, value);
        load_some(gain + begin, count, is_aligned, factor);
#pragma unroll
        for (int i = 0; i < pack; ++i) {
            value[i] = value[i] * inverse * factor[i];
        }
        store_some(y + begin, count, is_aligned, value);
    });
    if (threadIdx.x == 0) {
        *inv_rms = inverse;
    }
}

template <class T>
__global__ void __launch_bounds__(most_row_threads) normalize(
    const T* x, const T* gain, float epsilon, bool is_aligned, std::int64_t width, T* y, float* inv_rms) {
    __shared__ NormSums sums;
    const std::int64_t row = blockIdx.x;
    normalize_row(x + row * width, gain, epsilon, is_aligned, width, sums, y + row * width, inv_rms + row);
}

/// Two blocks at least: with no number ptxas spills rather than take more registers than four blocks leave
/// it.
template <class T>
__global__ void __launch_bounds__(most_row_threads, 2) add_and_normalize(const T* x,
                                                                         const T* branch,
                                                                         ReadableDropout dropout,
                                                                         const T* gain,
                                                                         float epsilon,
                                                                         bool is_aligned,
                                                                         std::int64_t width,
                                                                         T* x_out,
                                                                         T* y,
                                                                         float* inv_rms) {
    __shared__ NormSums sums;
    const std::int64_t row = blockIdx.x;
    const auto at = row * width;
    add_branch_row(DropoutPacks{dropout}, row, width, is_aligned, x + at, branch + at, x_out + at);
    normalize_row<T>(x_out + at, gain, epsilon, is_aligned, width, sums, y + at, inv_rms + row);
}

}  // namespace

template <class T>
void rms_norm_forward(const device::Stream& stream,
                      TensorRef<const T, 2> x,
                      TensorRef<const T, 1> gain,
                      float epsilon,
                      TensorRef<T, 2> y,
                      TensorRef<float, 1> inv_rms) {
    const auto width = x.extent(1);
    launch_grid(stream, "rms_norm_forward", rows_grid(x.extent(0), width), normalize<T>, x.data, gain.data,
                epsilon, are_rows_aligned(width, x.data, gain.data, y.data), width, y.data, inv_rms.data);
}

template <class T>
void residual_rms_norm_forward(const device::Stream& stream,
                               TensorRef<const T, 2> x,
                               TensorRef<const T, 2> branch,
                               const ReadableDropout& dropout,
                               TensorRef<const T, 1> gain,
                               float epsilon,
                               TensorRef<T, 2> x_out,
                               TensorRef<T, 2> y,
                               TensorRef<float, 1> inv_rms) {
    const auto width = x.extent(1);
    launch_grid(stream, "residual_rms_norm_forward", rows_grid(x.extent(0), width), add_and_normalize<T>,
                x.data, branch.data, dropout, gain.data, epsilon,
                are_rows_aligned(width, x.data, branch.data, gain.data, x_out.data, y.data), width,
                x_out.data, y.data, inv_rms.data);
}

template <class T>
void rms_norm_backward(const device::Stream& stream,
                       TensorRef<const T, 2> x,
                       TensorRef<const T, 2> dy,
                       TensorRef<const T, 1> gain,
                       TensorRef<const float, 1> inv_rms,
                       TensorRef<T, 2> dx,
                       TensorRef<float, 1> d_gain,
                       Accumulate accumulate,
                       std::span<std::byte> workspace) {
    norm_backward<false, T>(stream, "rms_norm_backward", x, dy, gain, {}, inv_rms, dx, d_gain, {}, accumulate,
                            workspace);
}

ZG_CUDA_SIBLING(rms_norm_forward<float>);
ZG_CUDA_SIBLING(rms_norm_forward<tensor::bfloat16>);
ZG_CUDA_SIBLING(residual_rms_norm_forward<float>);
ZG_CUDA_SIBLING(residual_rms_norm_forward<tensor::bfloat16>);
ZG_CUDA_SIBLING(rms_norm_backward<float>);
ZG_CUDA_SIBLING(rms_norm_backward<tensor::bfloat16>);

}  // namespace ziggurat::kernels::cuda
