#include <cmath>

#include "kernels/cuda/launch_cuda.hpp"
#include "kernels/cuda/row_packs_cuda.hpp"
#include "kernels/element/rope_element.hpp"
#include "kernels/rope.hpp"
#include "tensor/tensor_ref.hpp"

namespace ziggurat::kernels::cuda {
namespace {

using tensor::TensorRef;

/// Layout of pairs of channels in a row of query, key and value heads.
struct RopeLayout {
    std::int64_t rows, row_elements, heads, head_dim, pairs, positions;
};

/// One thread for each pack of the pairs of a head of a row.
template <class T>
__global__ void __launch_bounds__(256) turn(RopeLayout layout,
                                            float sign,
                                            bool is_aligned,
                                            const std::int32_t* positions,
                                            const float* table,
                                            T* qkv) {
    const auto part = row_pack(layout.pairs);  // its rows are heads
    const auto row = part.row / layout.heads;
    if (row >= layout.rows) {
        return;
    }
    const auto position = positions[row];
    // If it is false, the rotated values become NaN.
    const bool is_valid = position >= 0 && position < layout.positions;
    const float* const angles = table + 2 * (layout.pairs * (is_valid ? position : 0) + part.begin);
    T* const first = qkv + row * layout.row_elements + part.row % layout.heads * layout.head_dim + part.begin;
    T* const second = first + layout.pairs;
    float a[pack], b[pack], turned[pack];
    load_some(first, part.count, is_aligned, a);
    load_some(second, part.count, is_aligned, b);
#pragma unroll
    for (int i = 0; i < pack; ++i) {
        if (i < part.count) {
            const float cosine = is_valid ? angles[2 * i] : NAN;
            const float sine = sign * angles[2 * i + 1];
            turned[i] = turned_first(a[i], b[i], cosine, sine);
            b[i] = turned_second(a[i], b[i], cosine, sine);
        }
    }
    store_some(first, part.count, is_aligned, turned);
    store_some(second, part.count, is_aligned, b);
}

}  // namespace

template <class T>
void rope(const device::Stream& stream,
          const AttentionShape& shape,
          TensorRef<const std::int32_t, 1> positions,
          TensorRef<const float, 3> table,
          RopeDirection direction,
          TensorRef<T, 2> qkv) {
    const RopeLayout layout{.rows = qkv.extent(0),
                            .row_elements = qkv.extent(1),
                            .heads = shape.heads + shape.kv_heads,
                            .head_dim = shape.head_dim,
                            .pairs = table.extent(1),
                            .positions = table.extent(0)};
    const bool is_aligned = layout.row_elements % pack == 0 && layout.head_dim % pack == 0 &&
                            are_rows_aligned(layout.pairs, qkv.data);
    launch_grid(stream, "rope", a_thread_each_pack(layout.rows * layout.heads, layout.pairs), turn<T>, layout,
                direction == RopeDirection::forward ? 1.0F : -1.0F, is_aligned, positions.data, table.data,
                qkv.data);
}

ZG_REGISTER_CUDA_KERNEL(rope<float>);
ZG_REGISTER_CUDA_KERNEL(rope<tensor::bfloat16>);

}  // namespace ziggurat::kernels::cuda
