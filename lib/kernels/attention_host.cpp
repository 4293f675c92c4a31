#include "base/contract.hpp"
#include "kernels/attention.hpp"
#include "kernels/attention_impl.hpp"
#include "kernels/host_vector.hpp"  // made by CMake: HostVector, the operations of the chosen instruction set
#include "layout/host_workspaces.hpp"
#include "tensor/bfloat16.hpp"

namespace ziggurat::kernels {
namespace {

/// Document starts that fall, or lie behind their query, would read what nobody wrote.
bool are_document_starts(const AttentionShape& shape, tensor::TensorRef<const std::int32_t, 1> starts) {
    bool good = true;
    for (std::int64_t row = 0; row < starts.extent(0); ++row) {
        const auto position = row % shape.seq;
        const auto before = position == 0 ? 0 : starts.data[row - 1];
        good = good && before <= starts.data[row] && starts.data[row] <= position;
    }
    return good;
}

void check(const device::Stream& stream,
           const AttentionShape& shape,
           std::array<std::int64_t, 2> qkv,
           tensor::TensorRef<const std::int32_t, 1> document_starts,
           const Dropout& dropout,
           std::array<std::int64_t, 2> out,
           std::array<std::int64_t, 3> lse,
           int element_bytes,
           std::span<std::byte> workspace) {
    const auto [batch, seq, heads, kv_heads, head_dim, first_head] = shape;
    ZG_EXPECTS(batch >= 0 && seq > 0 && head_dim > 0 && kv_heads > 0 && first_head >= 0);
    ZG_EXPECTS(heads % kv_heads == 0);
    ZG_EXPECTS((qkv == std::array{batch * seq, (heads + 2 * kv_heads) * head_dim}));
    ZG_EXPECTS((out == std::array{batch * seq, heads * head_dim}));
    ZG_EXPECTS((lse == std::array{batch, heads, seq}));
    ZG_EXPECTS(document_starts.extent(0) == 0 || document_starts.extent(0) == batch * seq);
    ZG_EXPECTS(are_document_starts(shape, document_starts));
    ZG_EXPECTS(dropout.probability == 0 || (dropout.samples != nullptr && dropout.inputs != nullptr));
    const layout::HostWorkspaces needed{element_bytes, stream.num_threads()};
    ZG_EXPECTS(std::ssize(workspace) >= needed.attention(seq, head_dim));
}

}  // namespace

template <class T>
void attention_forward(const device::Stream& stream,
                       const AttentionShape& shape,
                       tensor::TensorRef<const T, 2> qkv,
                       tensor::TensorRef<const std::int32_t, 1> document_starts,
                       const Dropout& dropout,
                       tensor::TensorRef<T, 2> out,
                       tensor::TensorRef<float, 3> lse,
                       std::span<std::byte> workspace) {
    check(stream, shape, qkv.extents, document_starts, dropout, out.extents, lse.extents, sizeof(T),
          workspace);
    host::attention_forward<tile::HostVector, T>(stream.num_threads(), shape, qkv, document_starts, dropout,
                                                 out, lse, workspace);
}

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
                        std::span<std::byte> workspace) {
    ZG_EXPECTS(d_qkv.extents == qkv.extents && d_out.extents == out.extents);
    check(stream, shape, qkv.extents, document_starts, dropout, out.extents, lse.extents, sizeof(T),
          workspace);
    host::attention_backward<tile::HostVector, T>(stream.num_threads(), shape, qkv, document_starts, dropout,
                                                  out, d_out, lse, d_qkv, workspace);
}

#define ZG_INSTANTIATE(T)                                                                          \
    template void attention_forward<T>(                                                            \
        const device::Stream&, const AttentionShape&, tensor::TensorRef<const T, 2>,               \
        tensor::TensorRef<const std::int32_t, 1>, const Dropout&, tensor::TensorRef<T, 2>,         \
        tensor::TensorRef<float, 3>, std::span<std::byte>);                                        \
    template void attention_backward<T>(                                                           \
        const device::Stream&, const AttentionShape&, tensor::TensorRef<const T, 2>,               \
        tensor::TensorRef<const std::int32_t, 1>, const Dropout&, tensor::TensorRef<const T, 2>,   \
        tensor::TensorRef<const T, 2>, tensor::TensorRef<const float, 3>, tensor::TensorRef<T, 2>, \
        std::span<std::byte>);
ZG_INSTANTIATE(float)
ZG_INSTANTIATE(tensor::bfloat16)
#undef ZG_INSTANTIATE

}  // namespace ziggurat::kernels
