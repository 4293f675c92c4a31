#include "kernels/norm/rms_norm.hpp"

#include "kernels/cuda/launch_cuda.hpp"
#include "kernels/cuda/norm/norm_gradients_cuda.hpp"
#include "kernels/cuda/norm/norm_rows_cuda.hpp"

namespace ziggurat::kernels::cuda {

using tensor::TensorRef;

template <class T>
void rms_norm_forward(const device::Stream& stream,
                      TensorRef<const T, 2> x,
                      TensorRef<const T, 1> gain,
                      float gain_offset,
                      float epsilon,
                      TensorRef<T, 2> y,
                      TensorRef<float, 1> inv_rms) {
    const auto width = x.extent(1);
    norm_forward<false, T>(stream, "rms_norm_forward",
                           {.rows = x.extent(0),
                            .width = static_cast<int>(width),
                            .is_aligned = are_rows_aligned(width, x.data, gain.data, y.data),
                            .epsilon = epsilon,
                            .x = x.data,
                            .gain = gain.data,
                            .gain_offset = gain_offset,
                            .y = y.data,
                            .inverse = inv_rms.data});
}

template <class T>
void residual_rms_norm_forward(const device::Stream& stream,
                               TensorRef<const T, 2> x,
                               TensorRef<const T, 2> branch,
                               const DropoutView& dropout,
                               TensorRef<const T, 1> gain,
                               float gain_offset,
                               float epsilon,
                               TensorRef<T, 2> x_out,
                               TensorRef<T, 2> y,
                               TensorRef<float, 1> inv_rms) {
    const auto width = x.extent(1);
    norm_forward<false, T>(
        stream, "residual_rms_norm_forward",
        {.rows = x.extent(0),
         .width = static_cast<int>(width),
         .is_aligned = are_rows_aligned(width, x.data, branch.data, gain.data, x_out.data, y.data),
         .epsilon = epsilon,
         .x = x.data,
         .branch = branch.data,
         .dropout = dropout,
         .gain = gain.data,
         .gain_offset = gain_offset,
         .x_out = x_out.data,
         .y = y.data,
         .inverse = inv_rms.data});
}

template <class T>
void rms_norm_backward(const device::Stream& stream,
                       TensorRef<const T, 2> x,
                       TensorRef<const T, 2> dy,
                       TensorRef<const T, 1> gain,
                       float gain_offset,
                       TensorRef<const float, 1> inv_rms,
                       TensorRef<T, 2> dx,
                       Accumulate add_to_dx,
                       TensorRef<float, 1> d_gain,
                       Accumulate accumulate,
                       std::span<std::byte> workspace) {
    norm_backward<false, T>(stream, "rms_norm_backward", x, dy, gain, gain_offset, {}, inv_rms, dx, add_to_dx,
                            d_gain, {}, accumulate, workspace);
}

ZG_REGISTER_CUDA_KERNEL(rms_norm_forward<float>);
ZG_REGISTER_CUDA_KERNEL(rms_norm_forward<tensor::bfloat16>);
ZG_REGISTER_CUDA_KERNEL(residual_rms_norm_forward<float>);
ZG_REGISTER_CUDA_KERNEL(residual_rms_norm_forward<tensor::bfloat16>);
ZG_REGISTER_CUDA_KERNEL(rms_norm_backward<float>);
ZG_REGISTER_CUDA_KERNEL(rms_norm_backward<tensor::bfloat16>);

}  // namespace ziggurat::kernels::cuda
