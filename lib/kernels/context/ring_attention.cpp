#include "kernels/context/ring_attention.hpp"

#include <array>

#include "base/contract.hpp"
#include "kernels/launch/dropout_check.hpp"
#include "kernels/launch/launch.hpp"
#include "tensor/bfloat16.hpp"

namespace ziggurat::kernels {
namespace {

using Matrix = std::array<std::int64_t, 2>;

std::int64_t query_width(const AttentionShape& shape) {
    return shape.heads * shape.head_dim;
}

std::int64_t key_width(const AttentionShape& shape) {
    return 2 * shape.kv_heads * shape.head_dim;
}

/// Checks the values of a rank's rows: `qkv` and values with one row for each of its queries.
void check_rows(const AttentionShape& shape, const Matrix& qkv) {
    ZG_EXPECTS(shape.batch > 0 && shape.kv_heads > 0 && shape.heads % shape.kv_heads == 0);
    ZG_EXPECTS(qkv[0] % (2 * shape.batch) == 0 && qkv[1] == query_width(shape) + key_width(shape));
}

void check_round(const AttentionShape& shape,
                 const RingRound& round,
                 const Matrix& qkv,
                 const Matrix& kv,
                 VectorAddress<const std::int32_t> document_starts,
                 const Dropout& dropout,
                 const Matrix& out,
                 const std::array<std::int64_t, 3>& lse) {
    check_rows(shape, qkv);
    const auto rows = 2 * round.block;
    ZG_EXPECTS(round.block > 0 && shape.seq % rows == 0 && round.queries.count == 2);
    ZG_EXPECTS(qkv[0] == shape.batch * rows && (out == Matrix{qkv[0], query_width(shape)}));
    ZG_EXPECTS((kv == Matrix{round.keys.count * shape.batch * round.block, key_width(shape)}));
    ZG_EXPECTS((lse == std::array{shape.batch, shape.heads, rows}));
    ZG_EXPECTS(document_starts.extent(0) == 0 || document_starts.extent(0) == shape.batch * shape.seq);
    check_dropout_alone(dropout);
}

}  // namespace

template <class T>
void pack_ring_keys(const device::Stream& stream,
                    const AttentionShape& shape,
                    TensorAddress<const T, 2> qkv,
                    TensorAddress<T, 2> kv) {
    check_rows(shape, qkv.extents());
    ZG_EXPECTS((kv.extents() == Matrix{qkv.extent(0), key_width(shape)}));
    launch<pack_ring_keys<T>>(stream, shape, qkv, kv);
}

template <class T>
void ring_attention_forward(const device::Stream& stream,
                            const AttentionShape& shape,
                            const RingRound& round,
                            TensorAddress<const T, 2> qkv,
                            TensorAddress<const T, 2> kv,
                            VectorAddress<const std::int32_t> document_starts,
                            const Dropout& dropout,
                            TensorAddress<float, 2> merged,
                            TensorAddress<float, 3> lse,
                            TensorAddress<T, 2> out,
                            VectorAddress<std::byte> workspace) {
    check_round(shape, round, qkv.extents(), kv.extents(), document_starts, dropout, merged.extents(),
                lse.extents());
    ZG_EXPECTS(out.empty() || out.extents() == merged.extents());
    launch<ring_attention_forward<T>>(stream, shape, round, qkv, kv, document_starts, dropout, merged, lse,
                                      out, workspace);
}

template <class T>
void ring_attention_backward(const device::Stream& stream,
                             const AttentionShape& shape,
                             const RingRound& round,
                             TensorAddress<const T, 2> qkv,
                             TensorAddress<const T, 2> kv,
                             VectorAddress<const std::int32_t> document_starts,
                             const Dropout& dropout,
                             TensorAddress<const T, 2> out,
                             TensorAddress<const T, 2> d_out,
                             TensorAddress<const float, 3> lse,
                             Accumulate accumulate,
                             TensorAddress<float, 2> d_q,
                             TensorAddress<float, 2> d_kv,
                             VectorAddress<std::byte> workspace) {
    check_round(shape, round, qkv.extents(), kv.extents(), document_starts, dropout, out.extents(),
                lse.extents());
    ZG_EXPECTS(d_out.extents() == out.extents() && d_q.extents() == out.extents());
    ZG_EXPECTS(d_kv.extents() == kv.extents());
    launch<ring_attention_backward<T>>(stream, shape, round, qkv, kv, document_starts, dropout, out, d_out,
                                       lse, accumulate, d_q, d_kv, workspace);
}

template <class T>
void join_ring_gradients(const device::Stream& stream,
                         const AttentionShape& shape,
                         TensorAddress<const float, 2> d_q,
                         TensorAddress<const float, 2> d_kv,
                         TensorAddress<T, 2> d_qkv) {
    check_rows(shape, d_qkv.extents());
    ZG_EXPECTS((d_q.extents() == Matrix{d_qkv.extent(0), query_width(shape)}));
    ZG_EXPECTS((d_kv.extents() == Matrix{d_qkv.extent(0), key_width(shape)}));
    launch<join_ring_gradients<T>>(stream, shape, d_q, d_kv, d_qkv);
}

#define ZG_INSTANTIATE(T)                                                     \
    template decltype(pack_ring_keys<T>) pack_ring_keys<T>;                   \
    template decltype(ring_attention_forward<T>) ring_attention_forward<T>;   \
    template decltype(ring_attention_backward<T>) ring_attention_backward<T>; \
    template decltype(join_ring_gradients<T>) join_ring_gradients<T>
ZG_INSTANTIATE(float);
ZG_INSTANTIATE(tensor::bfloat16);
#undef ZG_INSTANTIATE

}  // namespace ziggurat::kernels
