/// Backward of ring attention on the host.
///
/// Two sources instantiate it, one for each type, as for attention_backward_impl.hpp.
#pragma once

#include "kernels/host/kernel_backend_host.hpp"
#include "kernels/host/ring/ring_attention_impl.hpp"
#include "kernels/host_vector.hpp"  // made by CMake: HostVector, the operations of the chosen instruction set

namespace ziggurat::kernels::host {

template <class T>
void ring_attention_backward(const device::Stream& stream,
                             const AttentionShape& shape,
                             const RingRound& round,
                             tensor::TensorRef<const T, 2> qkv,
                             tensor::TensorRef<const T, 2> kv,
                             tensor::TensorRef<const std::int32_t, 1> document_starts,
                             const DropoutView& dropout,
                             tensor::TensorRef<const T, 2> out,
                             tensor::TensorRef<const T, 2> d_out,
                             tensor::TensorRef<const float, 3> lse,
                             Accumulate accumulate,
                             tensor::TensorRef<float, 2> d_q,
                             tensor::TensorRef<float, 2> d_kv,
                             std::span<std::byte> workspace) {
    check_attention(stream, shape, document_starts, sizeof(T), round.block, workspace);
    tiled_ring_backward<tile::HostVector, T>(stream.num_threads(), shape, round, qkv, kv, document_starts,
                                             dropout, out, d_out, lse, accumulate, d_q, d_kv, workspace);
}

}  // namespace ziggurat::kernels::host
