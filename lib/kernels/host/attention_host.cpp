#include "base/contract.hpp"
#include "kernels/attention.hpp"
#include "kernels/host/attention_impl.hpp"
#include "kernels/host/kernel_backend_host.hpp"
#include "kernels/host_vector.hpp"  // made by CMake: HostVector, the operations of the chosen instruction set
#include "layout/host_workspaces.hpp"
#include "tensor/bfloat16.hpp"

namespace ziggurat::kernels::host {
namespace {

/// Returns true if document starts are valid.
///
/// Starts that decrease or are after their query would read uninitialized memory.
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
           tensor::TensorRef<const std::int32_t, 1> document_starts,
           int element_bytes,
           std::span<std::byte> workspace) {
    ZG_EXPECTS(are_document_starts(shape, document_starts));
    const layout::HostWorkspaces needed{element_bytes, stream.num_threads()};
    ZG_EXPECTS(std::ssize(workspace) >= needed.attention(shape.seq, shape.head_dim));
}

}  // namespace

template <class T>
void attention_forward(const device::Stream& stream,
                       const AttentionShape& shape,
                       tensor::TensorRef<const T, 2> qkv,
                       tensor::TensorRef<const std::int32_t, 1> document_starts,
                       const DropoutView& dropout,
                       tensor::TensorRef<T, 2> out,
                       tensor::TensorRef<float, 3> lse,
                       std::span<std::byte> workspace) {
    check(stream, shape, document_starts, sizeof(T), workspace);
    tiled_attention_forward<tile::HostVector, T>(stream.num_threads(), shape, qkv, document_starts, dropout,
                                                 out, lse, workspace);
}

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
    check(stream, shape, document_starts, sizeof(T), workspace);
    tiled_attention_backward<tile::HostVector, T>(stream.num_threads(), shape, qkv, document_starts, dropout,
                                                  out, d_out, lse, d_qkv, workspace);
}

ZG_REGISTER_HOST_KERNEL(attention_forward<float>);
ZG_REGISTER_HOST_KERNEL(attention_forward<tensor::bfloat16>);
ZG_REGISTER_HOST_KERNEL(attention_backward<float>);
ZG_REGISTER_HOST_KERNEL(attention_backward<tensor::bfloat16>);

}  // namespace ziggurat::kernels::host
