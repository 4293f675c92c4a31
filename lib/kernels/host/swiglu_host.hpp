/// Host siblings of swiglu.hpp; only swiglu.cpp and *_host.cpp files include it.
#pragma once

#include "kernels/swiglu.hpp"

namespace ziggurat::kernels::host {

template <class T>
void swiglu_forward(const device::Stream& stream, tensor::TensorRef<const T, 2> x, tensor::TensorRef<T, 2> y);
template <class T>
void swiglu_backward(const device::Stream& stream,
                     tensor::TensorRef<const T, 2> x,
                     tensor::TensorRef<const T, 2> dy,
                     tensor::TensorRef<T, 2> dx);

}  // namespace ziggurat::kernels::host
