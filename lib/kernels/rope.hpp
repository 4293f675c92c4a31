/// Rotary position embedding.
#pragma once

#include <cstdint>

#include "device/stream.hpp"
#include "kernels/attention.hpp"
#include "tensor/tensor_ref.hpp"

namespace ziggurat::kernels {

enum class Direction { forward, backward };

/// Fills table[p][i] = (cos, sin) of the angle p theta^(-2 i / head_dim), once at assembly.
///
/// Shapes:   table [max_positions, head_dim / 2, 2]
/// Numerics: angles, cosines and sines in double, rounded once
void rope_table(double theta, tensor::TensorRef<float, 3> table);

/// Turns the pairs (d, d + head_dim / 2) of every query and key head, in place, by the angles of their
/// position.
///
/// Source:   Su et al., "RoFormer", 2021, section 3.2.2, with the pairing of the published Llama weights in
/// the
///           Hugging Face format.
///
/// Shapes:   positions [batch * seq], each below table.extent(0); table as above, head_dim even;
///           qkv [batch * seq, (heads + 2 kv_heads) head_dim], of which the value heads stay as they are
/// Numerics: in float, rounded once to T. `backward` is the inverse turn: the gradient's way back.
/// Async:    on `stream`
/// Errors:   Error{internal} when shapes disagree
template <class T>
void rope(const device::Stream& stream,
          const AttentionShape& shape,
          tensor::TensorRef<const std::int32_t, 1> positions,
          tensor::TensorRef<const float, 3> table,
          Direction direction,
          tensor::TensorRef<T, 2> qkv);

}  // namespace ziggurat::kernels
