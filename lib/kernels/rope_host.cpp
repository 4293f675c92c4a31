#include <cmath>

#include "base/contract.hpp"
#include "kernels/rope.hpp"
#include "kernels/rows_host.hpp"
#include "tensor/bfloat16.hpp"

namespace ziggurat::kernels {
namespace {

/// Turns one head of one row; `sign` 1 is forward, -1 the way back.
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
        tensor::store(first[i], std::fma(a, cosine, -b * sine));
        tensor::store(second[i], std::fma(b, cosine, a * sine));
    }
}

}  // namespace

void rope_table(double theta, tensor::TensorRef<float, 3> table) {
    ZG_EXPECTS(theta > 0 && table.extent(2) == 2);
    const auto pairs = table.extent(1);
    for (std::int64_t position = 0; position < table.extent(0); ++position) {
        for (std::int64_t i = 0; i < pairs; ++i) {
            const double angle = static_cast<double>(position) *
                                 std::pow(theta, -static_cast<double>(i) / static_cast<double>(pairs));
            float* to = table.data + 2 * (position * pairs + i);
            to[0] = static_cast<float>(std::cos(angle));
            to[1] = static_cast<float>(std::sin(angle));
        }
    }
}

template <class T>
void rope(const device::Stream&,
          const AttentionShape& shape,
          tensor::TensorRef<const std::int32_t, 1> positions,
          tensor::TensorRef<const float, 3> table,
          RopeDirection direction,
          tensor::TensorRef<T, 2> qkv) {
    const auto pairs = table.extent(1);
    const auto turned_heads = shape.heads + shape.kv_heads;
    ZG_EXPECTS(2 * pairs <= shape.head_dim && table.extent(2) == 2);
    ZG_EXPECTS(qkv.extent(0) == shape.batch * shape.seq && positions.extent(0) == qkv.extent(0));
    ZG_EXPECTS(qkv.extent(1) == (turned_heads + shape.kv_heads) * shape.head_dim);
    for (std::int64_t row = 0; row < positions.extent(0); ++row) {
        ZG_EXPECTS(positions.data[row] >= 0 && positions.data[row] < table.extent(0));
    }
    const float sign = direction == RopeDirection::forward ? 1.0f : -1.0f;
    host::for_rows("ziggurat::rope", qkv.extent(0), [=](std::int64_t row) {
        const float* angles = table.data + 2 * pairs * positions.data[row];
        for (std::int64_t head = 0; head < turned_heads; ++head) {
            T* at = qkv.row(row) + head * shape.head_dim;
            turn(at, at + pairs, angles, sign, pairs);
        }
    });
}

template void rope<float>(const device::Stream&,
                          const AttentionShape&,
                          tensor::TensorRef<const std::int32_t, 1>,
                          tensor::TensorRef<const float, 3>,
                          RopeDirection,
                          tensor::TensorRef<float, 2>);
template void rope<tensor::bfloat16>(const device::Stream&,
                                     const AttentionShape&,
                                     tensor::TensorRef<const std::int32_t, 1>,
                                     tensor::TensorRef<const float, 3>,
                                     RopeDirection,
                                     tensor::TensorRef<tensor::bfloat16, 2>);

}  // namespace ziggurat::kernels
