#include "kernels/norm/layer_norm.hpp"

#include "kernels/cuda/launch_cuda.hpp"
#include "kernels/cuda/norm/norm_gradients_cuda.hpp"
#include "kernels/cuda/norm/norm_rows_cuda.hpp"

namespace ziggurat::kernels::cuda {

using tensor::TensorRef;

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
    norm_forward<true, T>(stream, "layer_norm_forward",
                          {.rows = x.extent(0),
                           .width = static_cast<int>(width),
                           .is_aligned = are_rows_aligned(width, x.data, gain.data, bias.data, y.data),
                           .epsilon = epsilon,
                           .x = x.data,
                           .gain = gain.data,
                           .bias = bias.data,
                           .y = y.data,
                           .mean = mean.data,
                           .inverse = inv_std.data});
}

template <class T>
void residual_layer_norm_forward(const device::Stream& stream,
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
    const auto width = x.extent(1);
    norm_forward<true, T>(
        stream, "residual_layer_norm_forward",
        {.rows = x.extent(0),
         .width = static_cast<int>(width),
         .is_aligned = are_rows_aligned(width, x.data, branch.data, gain.data, bias.data, x_out.data, y.data),
         .epsilon = epsilon,
         .x = x.data,
         .branch = branch.data,
         .dropout = dropout,
         .gain = gain.data,
         .bias = bias.data,
         .x_out = x_out.data,
         .y = y.data,
         .mean = mean.data,
         .inverse = inv_std.data});
}

template <class T>
void layer_norm_backward(const device::Stream& stream,
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
    norm_backward<true, T>(stream, "layer_norm_backward", x, dy, gain, 0, mean, inv_std, dx, add_to_dx,
                           d_gain, d_bias, accumulate, workspace);
}

ZG_REGISTER_CUDA_KERNEL(layer_norm_forward<float>);
ZG_REGISTER_CUDA_KERNEL(layer_norm_forward<tensor::bfloat16>);
ZG_REGISTER_CUDA_KERNEL(residual_layer_norm_forward<float>);
ZG_REGISTER_CUDA_KERNEL(residual_layer_norm_forward<tensor::bfloat16>);
ZG_REGISTER_CUDA_KERNEL(layer_norm_backward<float>);
ZG_REGISTER_CUDA_KERNEL(layer_norm_backward<tensor::bfloat16>);

}  // namespace ziggurat::kernels::cuda
