#include "kernels/host/kernel_backend_host.hpp"
#include "kernels/rope.hpp"

#include "base/contract.hpp"
#include "kernels/element/rope_element.hpp"
#include "kernels/host/rows_host.hpp"
#include "tensor/bfloat16.hpp"

namespace ziggurat::kernels::host {
namespace {

/// Rotates one head of one row; `sign` is 1 for forward, -1 for backward.
template <class T>
void turn(T* __restrict first,
          T* __restrict second,
          const float* __restrict table,
          float sign,
          std::int64_t pairs) {
#pragma omp simd
    for (std::int64_t i = 0; i < pairs; ++i) {
        const float cosine = table[2 * i];
        const float sine = sign * table[2 * i + 1];
        const float a = float(first[i]);
        const float b = float(second[i]);
        tensor::store(first[i], turned_first(a, b, cosine, sine));
        tensor::store(second[i], turned_second(a, b, cosine, sine));
    }
}

}  // namespace

template <class T>
void rope(const device::Stream&,
          const AttentionShape& shape,
          tensor::TensorRef<const std::int32_t, 1> positions,
          tensor::TensorRef<const float, 3> table,
          RopeDirection direction,
          tensor::TensorRef<T, 2> qkv) {
    const auto pairs = table.extent(1);
    const auto turned_heads = shape.heads + shape.kv_heads;
    for (std::int64_t row = 0; row < positions.extent(0); ++row) {
        ZG_EXPECTS(positions.data[row] >= 0 && positions.data[row] < table.extent(0));
    }
    const float sign = direction == RopeDirection::forward ? 1.0f : -1.0f;
    for_rows("ziggurat::rope", qkv.extent(0), [=](std::int64_t row) {
        const float* angles = table.data + 2 * pairs * positions.data[row];
        for (std::int64_t head = 0; head < turned_heads; ++head) {
            T* at = qkv.row(row) + head * shape.head_dim;
            turn(at, at + pairs, angles, sign, pairs);
        }
    });
}

ZG_REGISTER_HOST_KERNEL(rope<float>);
ZG_REGISTER_HOST_KERNEL(rope<tensor::bfloat16>);

}  // namespace ziggurat::kernels::host
