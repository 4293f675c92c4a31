#include "kernels/cache/cached_attention.hpp"

#include <array>

#include "base/contract.hpp"
#include "kernels/launch/launch.hpp"
#include "layout/cache/kv_cache.hpp"
#include "tensor/bfloat16.hpp"

namespace ziggurat::kernels {

template <class T>
void cached_attention(const device::Stream& stream,
                      const AttentionShape& shape,
                      std::int64_t window,
                      TensorAddress<const T, 2> qkv,
                      VectorAddress<const std::int32_t> positions,
                      VectorAddress<const std::int32_t> sequences,
                      TensorAddress<const std::int32_t, 2> page_table,
                      TensorAddress<T, 4> cache,
                      TensorAddress<T, 2> out,
                      VectorAddress<std::byte> workspace) {
    const auto rows = shape.seq;
    ZG_EXPECTS(shape.batch == 1 && rows > 0 && shape.head_dim > 0 && shape.kv_heads > 0 && window >= 0);
    ZG_EXPECTS(shape.heads % shape.kv_heads == 0 && shape.score_cap >= 0);
    ZG_EXPECTS((qkv.extents() == std::array{rows, (shape.heads + 2 * shape.kv_heads) * shape.head_dim}));
    ZG_EXPECTS((out.extents() == std::array{rows, shape.heads * shape.head_dim}));
    ZG_EXPECTS(positions.extent(0) == rows && sequences.extent(0) == rows);
    ZG_EXPECTS(
        (cache.extents() == std::array<std::int64_t, 4>{cache.extent(0), 2 * shape.kv_heads,
                                                        layout::cache_page_positions, shape.head_dim}));
    launch<cached_attention<T>>(stream, shape, window, qkv, positions, sequences, page_table, cache, out,
                                workspace);
}

template decltype(cached_attention<float>) cached_attention<float>;
template decltype(cached_attention<tensor::bfloat16>) cached_attention<tensor::bfloat16>;

}  // namespace ziggurat::kernels
