/// Backward attention on the host.
///
/// Two sources instantiate it, one for each type. One source with both would compile for a minute.
#pragma once

#include "kernels/attention.hpp"
#include "kernels/host/attention_impl.hpp"
#include "kernels/host/kernel_backend_host.hpp"
#include "kernels/host_vector.hpp"  // made by CMake: HostVector, the operations of the chosen instruction set

namespace ziggurat::kernels::host {

template <class T>
void attention_backward(const device::Stream& stream,
                        const AttentionShape& shape,
                        tensor::TensorRef<const T, 2> qkv,
                        tensor::TensorRef<const std::int32_t, 1> document_starts,
                        const DropoutView& dropout,
                        tensor::TensorRef<const T, 2> out,
                        tensor::TensorRef<const T, 2> d_out,
                        tensor::TensorRef<const float, 3> lse,
                        tensor::TensorRef<T, 2> d_qkv,
                        std::span<std::byte> workspace) {
    check_attention(stream, shape, document_starts, sizeof(T), shape.seq, workspace);
    tiled_attention_backward<tile::HostVector, T>(stream.num_threads(), shape, qkv, document_starts, dropout,
                                                  out, d_out, lse, d_qkv, workspace);
}

}  // namespace ziggurat::kernels::host
