/// Host siblings of attention.hpp; only attention.cpp and *_host.cpp files include it.
#pragma once

#include "kernels/attention.hpp"

namespace ziggurat::kernels::host {

template <class T>
void attention_forward(const device::Stream& stream,
                       const AttentionShape& shape,
                       tensor::TensorRef<const T, 2> qkv,
                       tensor::TensorRef<const std::int32_t, 1> document_starts,
                       const Dropout& dropout,
                       tensor::TensorRef<T, 2> out,
                       tensor::TensorRef<float, 3> lse,
                       std::span<std::byte> workspace);
template <class T>
void attention_backward(const device::Stream& stream,
                        const AttentionShape& shape,
                        tensor::TensorRef<const T, 2> qkv,
                        tensor::TensorRef<const std::int32_t, 1> document_starts,
                        const Dropout& dropout,
                        tensor::TensorRef<const T, 2> out,
                        tensor::TensorRef<const T, 2> d_out,
                        tensor::TensorRef<const float, 3> lse,
                        tensor::TensorRef<T, 2> d_qkv,
                        std::span<std::byte> workspace);

}  // namespace ziggurat::kernels::host
