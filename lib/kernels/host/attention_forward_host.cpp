#include "kernels/attention.hpp"
#include "kernels/host/attention_impl.hpp"
#include "kernels/host/kernel_backend_host.hpp"
#include "kernels/host_vector.hpp"  // made by CMake: HostVector, the operations of the chosen instruction set
#include "tensor/bfloat16.hpp"

namespace ziggurat::kernels::host {

template <class T>
void attention_forward(const device::Stream& stream,
                       const AttentionShape& shape,
                       tensor::TensorRef<const T, 2> qkv,
                       tensor::TensorRef<const std::int32_t, 1> document_starts,
                       const DropoutView& dropout,
                       tensor::TensorRef<T, 2> out,
                       tensor::TensorRef<float, 3> lse,
                       std::span<std::byte> workspace) {
    check_attention(stream, shape, document_starts, sizeof(T), shape.seq, workspace);
    tiled_attention_forward<tile::HostVector, T>(stream.num_threads(), shape, qkv, document_starts, dropout,
                                                 out, lse, workspace);
}

ZG_REGISTER_HOST_KERNEL(attention_forward<float>);
ZG_REGISTER_HOST_KERNEL(attention_forward<tensor::bfloat16>);

}  // namespace ziggurat::kernels::host
