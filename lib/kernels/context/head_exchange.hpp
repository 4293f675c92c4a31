/// Rearrangements around an all-to-all of heads for positions.
///
/// Context ranks with `ulysses` hold some positions of all heads, and attention needs all positions of some
/// heads. Before an all-to-all, the heads of each rank become a contiguous block; after it, the positions of
/// all ranks become sequences. The inverse follows attention.
///
/// Source: Jacobs et al., "DeepSpeed Ulysses", 2023, section 3.1.
#pragma once

#include <cstdint>

#include "device/stream.hpp"
#include "kernels/launch/tensor_address.hpp"
#include "layout/context/context_heads.hpp"

namespace ziggurat::kernels {

using layout::ContextHeads;

/// Computes to[r * rows + i, :] = the columns of rank r in from[i, :].
///
/// Shapes:  from [rows, of.width()]; to [of.ranks * rows, of.part_width()]
/// Async:   on `stream`
/// Errors:  Error{internal} if shapes disagree or the parts are not equal
template <class T>
void split_heads(const device::Stream& stream,
                 const ContextHeads& of,
                 TensorAddress<const T, 2> from,
                 TensorAddress<T, 2> to);

/// Computes the inverse. A key or value head that several ranks have is the sum of theirs.
///
/// Shapes:   from [of.ranks * rows, of.part_width()]; to [rows, of.width()]
/// Numerics: added in float, in the order of ranks, and rounded once
template <class T>
void join_heads(const device::Stream& stream,
                const ContextHeads& of,
                TensorAddress<const T, 2> from,
                TensorAddress<T, 2> to);

/// Computes to[b, a] = from[a, b], where both are blocks of rows.
///
/// Shapes:  from [outer * inner * n, width], to the same with the first two extents exchanged
/// Async:   on `stream`
/// Errors:  Error{internal} if shapes disagree
template <class T>
void exchange_blocks(const device::Stream& stream,
                     std::int64_t outer,
                     std::int64_t inner,
                     TensorAddress<const T, 2> from,
                     TensorAddress<T, 2> to);

}  // namespace ziggurat::kernels
