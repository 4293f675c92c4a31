#include "kernels/cache/cached_attention.hpp"
#include "kernels/host/cached_attention_impl.hpp"
#include "kernels/host/kernel_backend_host.hpp"
#include "kernels/host_vector.hpp"  // made by CMake: HostVector, the operations of the chosen instruction set
#include "tensor/bfloat16.hpp"

namespace ziggurat::kernels::host {

template <class T>
void cached_attention(const device::Stream& stream,
                      const AttentionShape& shape,
                      std::int64_t window,
                      tensor::TensorRef<const T, 2> qkv,
                      tensor::TensorRef<const std::int32_t, 1> positions,
                      tensor::TensorRef<const std::int32_t, 1> sequences,
                      tensor::TensorRef<const std::int32_t, 2> page_table,
                      tensor::TensorRef<T, 4> cache,
                      tensor::TensorRef<T, 2> out,
                      std::span<std::byte> workspace) {
    const CachedRows<T> rows{shape, window, qkv, positions.data, sequences.data, page_table, cache};
    for (std::int64_t row = 0; row < shape.seq; ++row) {
        ZG_EXPECTS(rows.has_pages(row));
    }
    const layout::HostWorkspaces needed{sizeof(T), stream.num_threads()};
    ZG_EXPECTS(std::ssize(workspace) >=
               needed.cached_attention({1, shape.seq, shape.heads, shape.kv_heads, shape.head_dim}));
    tiled_cached_attention<tile::HostVector, T>(stream.num_threads(), rows, out, workspace);
}

ZG_REGISTER_HOST_KERNEL(cached_attention<float>);
ZG_REGISTER_HOST_KERNEL(cached_attention<tensor::bfloat16>);

}  // namespace ziggurat::kernels::host
