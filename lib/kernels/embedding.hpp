/// Lookup of token and position embeddings.
#pragma once

#include <cstdint>

#include "device/stream.hpp"
#include "kernels/step_inputs.hpp"
#include "tensor/tensor_ref.hpp"

namespace ziggurat::kernels {

/// out[r] = dropout(table[tokens[r]] + position_table[positions[r]]).
///
/// Shapes:  tokens, positions [rows]; table [vocab, width]; position_table [max_seq, width] or empty, and
/// then
///          positions may be empty too; out [rows, width]
/// Errors:  Error{internal} when shapes disagree or an index is outside its table
template <class T>
void embedding_forward(const device::Stream& stream,
                       tensor::TensorRef<const std::int32_t, 1> tokens,
                       tensor::TensorRef<const std::int32_t, 1> positions,
                       tensor::TensorRef<const T, 2> table,
                       tensor::TensorRef<const T, 2> position_table,
                       const Dropout& dropout,
                       tensor::TensorRef<T, 2> out);

/// Adds each row of dropout'(d_out) to the rows of the tables that it was looked up from.
///
/// With Accumulate::no a table is zeroed first; a tied table that the head has written already takes
/// Accumulate::yes.
///
/// Shapes:  as forward; d_table [vocab, width] and d_position_table [max_seq, width], each empty where it is
///          not asked for
/// Numerics: each table row is a float sum in the order of the rows of d_out: the same bits for any number of
///          threads
/// Errors:  Error{internal} when shapes disagree or an index is outside its table
template <class T>
void embedding_backward(const device::Stream& stream,
                        tensor::TensorRef<const std::int32_t, 1> tokens,
                        tensor::TensorRef<const std::int32_t, 1> positions,
                        tensor::TensorRef<const T, 2> d_out,
                        const Dropout& dropout,
                        tensor::TensorRef<float, 2> d_table,
                        Accumulate accumulate_table,
                        tensor::TensorRef<float, 2> d_position_table,
                        Accumulate accumulate_position_table);

/// The same by rows of the table. A tile's rows of the table go to the rows of `out` that ask for them; the
/// others stay. Then positions and dropout for all rows at once: the bits are those of embedding_forward.
///
/// Shapes:  table [any, width]: the rows from `first` on
template <class T>
void embedding_tile_forward(const device::Stream& stream,
                            tensor::TensorRef<const std::int32_t, 1> tokens,
                            tensor::TensorRef<const T, 2> table,
                            std::int64_t first,
                            tensor::TensorRef<T, 2> out);
template <class T>
void embedding_positions_forward(const device::Stream& stream,
                                 tensor::TensorRef<const std::int32_t, 1> positions,
                                 tensor::TensorRef<const T, 2> position_table,
                                 const Dropout& dropout,
                                 tensor::TensorRef<T, 2> out);

/// The gradient of the rows from `first` on of one of the tables, as embedding_backward forms them; rows of
/// d_out that were looked up elsewhere are passed over.
template <class T>
void embedding_tile_backward(const device::Stream& stream,
                             tensor::TensorRef<const std::int32_t, 1> indices,
                             std::int64_t first,
                             tensor::TensorRef<const T, 2> d_out,
                             const Dropout& dropout,
                             tensor::TensorRef<float, 2> d_table,
                             Accumulate accumulate);

}  // namespace ziggurat::kernels
