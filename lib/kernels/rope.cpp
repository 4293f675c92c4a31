#include "kernels/rope.hpp"

#include <cmath>

#include "base/contract.hpp"
#include "kernels/launch/launch.hpp"
#include "tensor/bfloat16.hpp"

namespace ziggurat::kernels {

void rope_table(std::span<const double> frequencies, double factor, tensor::TensorRef<float, 3> table) {
    ZG_EXPECTS(std::ssize(frequencies) == table.extent(1) && table.extent(2) == 2);
    const auto pairs = table.extent(1);
    for (std::int64_t position = 0; position < table.extent(0); ++position) {
        for (std::int64_t i = 0; i < pairs; ++i) {
            const double angle = static_cast<double>(position) * frequencies[i];
            float* to = table.data + 2 * (position * pairs + i);
            to[0] = static_cast<float>(factor * std::cos(angle));
            to[1] = static_cast<float>(factor * std::sin(angle));
        }
    }
}

template <class T>
void rope(const device::Stream& stream,
          const AttentionShape& shape,
          VectorAddress<const std::int32_t> positions,
          TensorAddress<const float, 3> table,
          RopeDirection direction,
          TensorAddress<T, 2> qkv) {
    ZG_EXPECTS(2 * table.extent(1) <= shape.head_dim && table.extent(2) == 2);
    ZG_EXPECTS(qkv.extent(0) == shape.batch * shape.seq && positions.extent(0) == qkv.extent(0));
    ZG_EXPECTS(qkv.extent(1) == (shape.heads + 2 * shape.kv_heads) * shape.head_dim);
    launch<rope<T>>(stream, shape, positions, table, direction, qkv);
}

template decltype(rope<float>) rope<float>;
template decltype(rope<tensor::bfloat16>) rope<tensor::bfloat16>;

}  // namespace ziggurat::kernels
