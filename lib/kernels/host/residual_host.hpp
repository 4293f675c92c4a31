/// Host siblings of residual.hpp; only residual.cpp and *_host.cpp files include it.
#pragma once

#include "kernels/residual.hpp"

namespace ziggurat::kernels::host {

template <class T>
void residual_forward(const device::Stream& stream,
                      tensor::TensorRef<const T, 2> x,
                      tensor::TensorRef<const T, 2> branch,
                      const Dropout& dropout,
                      tensor::TensorRef<T, 2> y);
template <class T>
void dropout_backward(const device::Stream& stream,
                      tensor::TensorRef<const T, 2> dy,
                      const Dropout& dropout,
                      tensor::TensorRef<T, 2> dx);

}  // namespace ziggurat::kernels::host
