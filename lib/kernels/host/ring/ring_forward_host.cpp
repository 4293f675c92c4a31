#include "kernels/host/kernel_backend_host.hpp"
#include "kernels/host/ring/ring_attention_impl.hpp"
#include "kernels/host_vector.hpp"  // made by CMake: HostVector, the operations of the chosen instruction set
#include "tensor/bfloat16.hpp"

namespace ziggurat::kernels::host {

using tensor::TensorRef;

namespace {

/// Returns the row of kv, which is in blocks, that has the keys of a row of qkv.
std::int64_t row_of_keys(std::int64_t row, std::int64_t block, std::int64_t batch) {
    const auto sequence = row / (2 * block);
    const auto half = row / block % 2;
    return (half * batch + sequence) * block + row % block;
}

}  // namespace

template <class T>
void pack_ring_keys(const device::Stream&,
                    const AttentionShape& shape,
                    TensorRef<const T, 2> qkv,
                    TensorRef<T, 2> kv) {
    const auto block = qkv.extent(0) / (2 * shape.batch);
    for_rows("ziggurat::pack_ring_keys", qkv.extent(0),
             [=, width = shape.heads * shape.head_dim, batch = shape.batch](std::int64_t row) {
                 std::copy_n(qkv.row(row) + width, kv.extent(1), kv.row(row_of_keys(row, block, batch)));
             });
}

template <class T>
void ring_attention_forward(const device::Stream& stream,
                            const AttentionShape& shape,
                            const RingRound& round,
                            TensorRef<const T, 2> qkv,
                            TensorRef<const T, 2> kv,
                            TensorRef<const std::int32_t, 1> document_starts,
                            const DropoutView& dropout,
                            TensorRef<float, 2> merged,
                            TensorRef<float, 3> lse,
                            TensorRef<T, 2> out,
                            std::span<std::byte> workspace) {
    check_attention(stream, shape, document_starts, sizeof(T), round.block, workspace);
    tiled_ring_forward<tile::HostVector, T>(stream.num_threads(), shape, round, qkv, kv, document_starts,
                                            dropout, merged, lse, out, workspace);
}

template <class T>
void join_ring_gradients(const device::Stream&,
                         const AttentionShape& shape,
                         TensorRef<const float, 2> d_q,
                         TensorRef<const float, 2> d_kv,
                         TensorRef<T, 2> d_qkv) {
    const auto block = d_qkv.extent(0) / (2 * shape.batch);
    for_rows("ziggurat::join_ring_gradients", d_qkv.extent(0), [=, batch = shape.batch](std::int64_t row) {
        round_row(d_q.row(row), d_q.extent(1), d_qkv.row(row));
        round_row(d_kv.row(row_of_keys(row, block, batch)), d_kv.extent(1), d_qkv.row(row) + d_q.extent(1));
    });
}

#define ZG_REGISTER(T)                                  \
    ZG_REGISTER_HOST_KERNEL(pack_ring_keys<T>);         \
    ZG_REGISTER_HOST_KERNEL(ring_attention_forward<T>); \
    ZG_REGISTER_HOST_KERNEL(join_ring_gradients<T>)
ZG_REGISTER(float);
ZG_REGISTER(tensor::bfloat16);
#undef ZG_REGISTER

}  // namespace ziggurat::kernels::host
