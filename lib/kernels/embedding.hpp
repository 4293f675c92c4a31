/// Lookup of token and position embeddings.
#pragma once

#include <cstdint>

#include "device/stream.hpp"
#include "kernels/step_inputs.hpp"
#include "kernels/tensor_address.hpp"

namespace ziggurat::kernels {

/// out[r] = dropout(table[tokens[r]] + position_table[positions[r]]).
///
/// Of a table of `vocab` rows this may be a slice, its rows from `first` on: the others count as zeros, so
/// that the sum over all slices is the lookup.
///
/// Shapes:  tokens, positions [rows]; table [at most vocab - first, width]; position_table [max_seq, width]
/// or empty, and then
///          positions may be empty too; out [rows, width]
/// Errors:  Error{internal} when shapes disagree or an index is outside its table. On a GPU, rows with such
/// an
///          index become NaN.
template <class T>
void embedding_forward(const device::Stream& stream,
                       VectorAddress<const std::int32_t> tokens,
                       VectorAddress<const std::int32_t> positions,
                       TensorAddress<const T, 2> table,
                       std::int64_t first,
                       std::int64_t vocab,
                       TensorAddress<const T, 2> position_table,
                       const Dropout& dropout,
                       TensorAddress<T, 2> out);

/// Adds each row of dropout'(d_out) to the rows of the tables that it was looked up from.
///
/// With Accumulate::no a table is zeroed first; a tied table that the head has written already takes
/// Accumulate::yes. What is added to d_table is multiplied by `table_scale`: less than 1 keeps large models
/// stable (GLM-130B, arXiv:2210.02414, section 3.1: embedding gradient shrink).
///
/// Shapes:  as forward; d_table [at most vocab - first, width] and d_position_table [max_seq, width], each
/// empty where it is
///          not asked for
/// Numerics: each table row is a float sum in the order of the rows of d_out: the same bits for any number of
///          threads
/// Errors:  Error{internal} when shapes disagree or an index is outside its table. On a GPU, rows with such
/// an
///          index are left out.
template <class T>
void embedding_backward(const device::Stream& stream,
                        VectorAddress<const std::int32_t> tokens,
                        VectorAddress<const std::int32_t> positions,
                        TensorAddress<const T, 2> d_out,
                        const Dropout& dropout,
                        TensorAddress<float, 2> d_table,
                        std::int64_t first,
                        std::int64_t vocab,
                        Accumulate accumulate_table,
                        TensorAddress<float, 2> d_position_table,
                        Accumulate accumulate_position_table,
                        float table_scale = 1);

/// The same by rows of the table. A tile's rows of the table go to the rows of `out` that ask for them; the
/// others stay. Then positions and dropout for all rows at once: the bits are those of embedding_forward.
///
/// Shapes:  table [any, width]: the rows from `first` on
template <class T>
void embedding_tile_forward(const device::Stream& stream,
                            VectorAddress<const std::int32_t> tokens,
                            TensorAddress<const T, 2> table,
                            std::int64_t first,
                            TensorAddress<T, 2> out);
template <class T>
void embedding_positions_forward(const device::Stream& stream,
                                 VectorAddress<const std::int32_t> positions,
                                 TensorAddress<const T, 2> position_table,
                                 const Dropout& dropout,
                                 TensorAddress<T, 2> out);

/// The gradient of the rows from `first` on of one of the tables, as embedding_backward forms them; rows of
/// d_out that were looked up elsewhere are passed over.
template <class T>
void embedding_tile_backward(const device::Stream& stream,
                             VectorAddress<const std::int32_t> indices,
                             std::int64_t first,
                             TensorAddress<const T, 2> d_out,
                             const Dropout& dropout,
                             TensorAddress<float, 2> d_table,
                             Accumulate accumulate,
                             float scale = 1);

}  // namespace ziggurat::kernels
