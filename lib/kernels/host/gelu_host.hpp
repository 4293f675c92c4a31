/// Host siblings of gelu.hpp; only gelu.cpp and *_host.cpp files include it.
#pragma once

#include "kernels/gelu.hpp"

namespace ziggurat::kernels::host {

template <class T>
void gelu_forward(const device::Stream& stream, tensor::TensorRef<const T, 2> x, tensor::TensorRef<T, 2> y);
template <class T>
void gelu_backward(const device::Stream& stream, tensor::TensorRef<const T, 2> x, tensor::TensorRef<T, 2> dy);
template <class T>
void gelu_erf_forward(const device::Stream& stream,
                      tensor::TensorRef<const T, 2> x,
                      tensor::TensorRef<T, 2> y);
template <class T>
void gelu_erf_backward(const device::Stream& stream,
                       tensor::TensorRef<const T, 2> x,
                       tensor::TensorRef<T, 2> dy);

}  // namespace ziggurat::kernels::host
