/// Host siblings of rms_norm.hpp; only rms_norm.cpp and *_host.cpp files include it.
#pragma once

#include "kernels/rms_norm.hpp"

namespace ziggurat::kernels::host {

template <class T>
void rms_norm_forward(const device::Stream& stream,
                      tensor::TensorRef<const T, 2> x,
                      tensor::TensorRef<const T, 1> gain,
                      float epsilon,
                      tensor::TensorRef<T, 2> y,
                      tensor::TensorRef<float, 1> inv_rms);
template <class T>
void residual_rms_norm_forward(const device::Stream& stream,
                               tensor::TensorRef<const T, 2> x,
                               tensor::TensorRef<const T, 2> branch,
                               const Dropout& dropout,
                               tensor::TensorRef<const T, 1> gain,
                               float epsilon,
                               tensor::TensorRef<T, 2> x_out,
                               tensor::TensorRef<T, 2> y,
                               tensor::TensorRef<float, 1> inv_rms);
template <class T>
void rms_norm_backward(const device::Stream& stream,
                       tensor::TensorRef<const T, 2> x,
                       tensor::TensorRef<const T, 2> dy,
                       tensor::TensorRef<const T, 1> gain,
                       tensor::TensorRef<const float, 1> inv_rms,
                       tensor::TensorRef<T, 2> dx,
                       tensor::TensorRef<float, 1> d_gain,
                       Accumulate accumulate,
                       std::span<std::byte> workspace);

}  // namespace ziggurat::kernels::host
