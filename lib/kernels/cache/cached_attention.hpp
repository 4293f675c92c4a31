/// Attention of new tokens to a KV cache, which they extend.
#pragma once

#include <cstddef>
#include <cstdint>

#include "device/stream.hpp"
#include "kernels/attention.hpp"
#include "kernels/launch/tensor_address.hpp"

namespace ziggurat::kernels {

/// Stores the keys and values of all rows in the cache, then computes their attention.
///
/// The attention is that of attention_forward. Row r is the token at positions[r] of sequence sequences[r];
/// the rows of a sequence are in ascending order. It attends to all positions up to its own, or to the last
/// `window` of them. The cache already holds those that are not among the rows. A row with a negative
/// sequence is unused: its output becomes 0.
///
/// Shapes:   shape.batch 1, shape.seq the number of rows; qkv as in attention_forward; page_table [sequences,
///           pages of a sequence]: the page of each layout::cache_page_positions positions; cache [pages, 2
///           kv_heads, layout::cache_page_positions, head_dim]: keys of all heads, then values of all heads;
///           out [rows, heads head_dim]
/// Numerics: as attention_forward. On the host each row has the bits that attention_forward computes for the
///           whole sequence. They do not depend on how its tokens are divided among calls.
/// Async:    on `stream`; arguments, including the workspace, must live until it has run
/// Errors:   Error{internal} if shapes disagree or the workspace is below layout::Workspaces::cached_attention.
///           The host also rejects rows whose page is missing. On a GPU the output of such rows is NaN.
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
                      VectorAddress<std::byte> workspace);

}  // namespace ziggurat::kernels
