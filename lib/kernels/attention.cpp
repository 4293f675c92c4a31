#include "kernels/attention.hpp"

#include <array>
#include <cmath>

#include "base/contract.hpp"
#include "kernels/attention_library.hpp"
#include "kernels/launch/dropout_check.hpp"
#include "kernels/launch/launch.hpp"
#include "tensor/bfloat16.hpp"

namespace ziggurat::kernels {

namespace {

void check(const AttentionShape& shape,
           std::array<std::int64_t, 2> qkv,
           VectorAddress<const std::int32_t> document_starts,
           const Dropout& dropout,
           std::array<std::int64_t, 2> out,
           std::array<std::int64_t, 3> lse) {
    const auto [batch, seq, heads, kv_heads, head_dim, first_head, scale, any_order, score_cap] = shape;
    static_cast<void>(any_order);
    ZG_EXPECTS(batch >= 0 && seq > 0 && head_dim > 0 && kv_heads > 0 && first_head >= 0);
    ZG_EXPECTS(heads % kv_heads == 0);
    ZG_EXPECTS(scale >= 0 && std::isfinite(scale));
    ZG_EXPECTS(score_cap >= 0 && std::isfinite(score_cap));
    ZG_EXPECTS((qkv == std::array{batch * seq, (heads + 2 * kv_heads) * head_dim}));
    ZG_EXPECTS((out == std::array{batch * seq, heads * head_dim}));
    ZG_EXPECTS((lse == std::array{batch, heads, seq}));
    ZG_EXPECTS(document_starts.extent(0) == 0 || document_starts.extent(0) == batch * seq);
    check_dropout_alone(dropout);
}

}  // namespace

template <class T>
void attention_forward(const device::Stream& stream,
                       const AttentionShape& shape,
                       TensorAddress<const T, 2> qkv,
                       VectorAddress<const std::int32_t> document_starts,
                       const Dropout& dropout,
                       TensorAddress<T, 2> out,
                       TensorAddress<float, 3> lse,
                       VectorAddress<std::byte> workspace) {
    check(shape, qkv.extents(), document_starts, dropout, out.extents(), lse.extents());
    launch<attention_forward<T>>(stream, shape, qkv, document_starts, dropout, out, lse, workspace);
}

template <class T>
void attention_backward(const device::Stream& stream,
                        const AttentionShape& shape,
                        TensorAddress<const T, 2> qkv,
                        VectorAddress<const std::int32_t> document_starts,
                        const Dropout& dropout,
                        TensorAddress<const T, 2> out,
                        TensorAddress<const T, 2> d_out,
                        TensorAddress<const float, 3> lse,
                        TensorAddress<T, 2> d_qkv,
                        VectorAddress<std::byte> workspace) {
    ZG_EXPECTS(d_qkv.extents() == qkv.extents() && d_out.extents() == out.extents());
    check(shape, qkv.extents(), document_starts, dropout, out.extents(), lse.extents());
    launch<attention_backward<T>>(stream, shape, qkv, document_starts, dropout, out, d_out, lse, d_qkv,
                                  workspace);
}

template <class T>
AttentionKernel prepare_attention(const device::Stream& stream,
                                  const AttentionShape& shape,
                                  const layout::AttentionUse& use) {
    return prepare<host::prepare_attention<T>, cuda::prepare_attention<T>>(stream, shape, use);
}

namespace {

/// Joins name(kernel) of the kernels that have ops.
template <class Name>
std::string join(const AttentionOps& ops, const std::string& separator, const Name& name) {
    std::string text;
    for (int i = 0; i < num_attention_kernels; ++i) {
        if (ops[i] > 0) {
            text += (text.empty() ? "" : separator) + name(static_cast<AttentionKernel>(i));
        }
    }
    return text;
}

}  // namespace

std::string names_of(const AttentionOps& ops) {
    return join(ops, " + ", [](AttentionKernel kernel) -> std::string { return layout::to_string(kernel); });
}

std::string describe(const AttentionOps& ops) {
    return join(ops, ", ", [&](AttentionKernel kernel) {
        const bool is_library = kernel == AttentionKernel::cudnn;
        return (is_library ? attention_library().name : layout::describe(kernel)) + " (" +
               std::to_string(ops[kernel]) + " ops)";
    });
}

AttentionLibrary attention_library() {
    if constexpr (device::has_cuda) {
        return cuda::attention_library();
    }
    return {};
}

#define ZG_INSTANTIATE(T)                                                                       \
    template AttentionKernel prepare_attention<T>(const device::Stream&, const AttentionShape&, \
                                                  const layout::AttentionUse&)
ZG_INSTANTIATE(float);
ZG_INSTANTIATE(tensor::bfloat16);
#undef ZG_INSTANTIATE
template decltype(attention_forward<float>) attention_forward<float>;
template decltype(attention_forward<tensor::bfloat16>) attention_forward<tensor::bfloat16>;
template decltype(attention_backward<float>) attention_backward<float>;
template decltype(attention_backward<tensor::bfloat16>) attention_backward<tensor::bfloat16>;

}  // namespace ziggurat::kernels
