/// Host siblings of layer_norm.hpp; only layer_norm.cpp and *_host.cpp files include it.
#pragma once

#include "kernels/layer_norm.hpp"

namespace ziggurat::kernels::host {

template <class T>
void layer_norm_forward(const device::Stream& stream,
                        tensor::TensorRef<const T, 2> x,
                        tensor::TensorRef<const T, 1> gain,
                        tensor::TensorRef<const T, 1> bias,
                        float epsilon,
                        tensor::TensorRef<T, 2> y,
                        tensor::TensorRef<float, 1> mean,
                        tensor::TensorRef<float, 1> inv_std);
template <class T>
void residual_layer_norm_forward(const device::Stream& stream,
                                 tensor::TensorRef<const T, 2> x,
                                 tensor::TensorRef<const T, 2> branch,
                                 const Dropout& dropout,
                                 tensor::TensorRef<const T, 1> gain,
                                 tensor::TensorRef<const T, 1> bias,
                                 float epsilon,
                                 tensor::TensorRef<T, 2> x_out,
                                 tensor::TensorRef<T, 2> y,
                                 tensor::TensorRef<float, 1> mean,
                                 tensor::TensorRef<float, 1> inv_std);
template <class T>
void layer_norm_backward(const device::Stream& stream,
                         tensor::TensorRef<const T, 2> x,
                         tensor::TensorRef<const T, 2> dy,
                         tensor::TensorRef<const T, 1> gain,
                         tensor::TensorRef<const float, 1> mean,
                         tensor::TensorRef<const float, 1> inv_std,
                         tensor::TensorRef<T, 2> dx,
                         tensor::TensorRef<float, 1> d_gain,
                         tensor::TensorRef<float, 1> d_bias,
                         Accumulate accumulate,
                         std::span<std::byte> workspace);

}  // namespace ziggurat::kernels::host
