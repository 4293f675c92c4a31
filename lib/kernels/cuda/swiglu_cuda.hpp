/// Gradients of gated linear units on GPUs; only *_cuda.cu files include it.
#pragma once

#include "device/stream.hpp"
#include "tensor/bfloat16.hpp"
#include "tensor/tensor_ref.hpp"

namespace ziggurat::kernels::cuda {

/// Backend of kernels::swiglu_backward.
template <class T>
void swiglu_backward(const device::Stream& stream,
                     tensor::TensorRef<const T, 2> x,
                     tensor::TensorRef<const T, 2> dy,
                     tensor::TensorRef<T, 2> dx,
                     tensor::TensorRef<T, 2> y);
/// Backend of kernels::geglu_backward.
template <class T>
void geglu_backward(const device::Stream& stream,
                    tensor::TensorRef<const T, 2> x,
                    tensor::TensorRef<const T, 2> dy,
                    tensor::TensorRef<T, 2> dx,
                    tensor::TensorRef<T, 2> y);

extern template decltype(swiglu_backward<tensor::bfloat16>) swiglu_backward<tensor::bfloat16>;
extern template decltype(geglu_backward<tensor::bfloat16>) geglu_backward<tensor::bfloat16>;

}  // namespace ziggurat::kernels::cuda
