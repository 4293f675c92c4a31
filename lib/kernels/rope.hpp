/// Rotary position embedding.
#pragma once

#include <cstdint>
#include <span>

#include "device/stream.hpp"
#include "kernels/attention.hpp"
#include "kernels/launch/tensor_address.hpp"
#include "tensor/tensor_ref.hpp"

namespace ziggurat::kernels {

enum class RopeDirection { forward, backward };

/// Fills table[p][i] = factor (cos, sin) of the angle p frequencies[i], once at assembly.
///
/// Runs on the calling thread, in host memory.
///
/// Shapes:   frequencies [pairs], in radians per token; table [max_positions, pairs, 2]; two channels of a
///           head form a pair
/// Numerics: angles, cosines, sines and their product with `factor` in double, rounded once
void rope_table(std::span<const double> frequencies, double factor, tensor::TensorRef<float, 3> table);

/// Rotates the channels of every query and key head by the angles of their position.
///
/// Works in place on the pairs (d, d + pairs), d < pairs. Channels from 2 pairs on, and the value heads,
/// do not change.
///
/// Source:   Su et al., "RoFormer", 2021, section 3.2.2, with the pairing by halves of weights published in
///           the Hugging Face format; on a part of a head: Black et al., "GPT-NeoX-20B", 2022, section 2.1.
///
/// Shapes:   positions [batch * seq], each below table.extent(0); table as above, 2 pairs at most head_dim;
///           qkv [batch * seq, (heads + 2 kv_heads) head_dim]
/// Numerics: in float, rounded once to T. `backward` applies the transposed matrix, for gradients: the
///           inverse rotation, times the factor of the table.
/// Async:    on `stream`
/// Errors:   Error{internal} if shapes disagree. On a GPU, rows at a position beyond the table become NaN.
template <class T>
void rope(const device::Stream& stream,
          const AttentionShape& shape,
          VectorAddress<const std::int32_t> positions,
          TensorAddress<const float, 3> table,
          RopeDirection direction,
          TensorAddress<T, 2> qkv);

}  // namespace ziggurat::kernels
