/// Lookup of token and position embeddings.
#pragma once

#include <cstdint>

#include "device/stream.hpp"
#include "kernels/launch/step_inputs.hpp"
#include "kernels/launch/tensor_address.hpp"

namespace ziggurat::kernels {

/// Computes out[r] = dropout(table_factor * table[tokens[r]] + position_table[positions[r]]).
///
/// The product with the factor is rounded to T.
///
/// `table` may be a slice of a table of `vocab` rows: the rows from `first` on. Other rows count as zeros, so
/// the sum over all slices is the lookup.
///
/// Shapes:  tokens, positions [rows]; table [at most vocab - first, width]; out [rows, width];
///          position_table [max_seq, width], or empty; then positions may be empty too
/// Errors:  Error{internal} if shapes disagree or an index is outside its table. On a GPU, rows with such an
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
                       TensorAddress<T, 2> out,
                       float table_factor = 1);

/// Adds the gradient of each row, with dropout, to the table rows that it was looked up from.
///
/// Accumulate::no zeroes a table first. Accumulate::yes is for a tied table whose gradient the head has
/// already written. Summands of d_table are multiplied by `table_scale`: values below 1 keep large models
/// stable (GLM-130B, arXiv:2210.02414, section 3.1: embedding gradient shrink). It includes the factor of
/// forward.
///
/// Shapes:  as forward; d_table [at most vocab - first, width] and d_position_table [max_seq, width]; empty
///          if not requested
/// Numerics: each table row is a float sum in the order of the rows of d_out. The bits do not depend on the
///          number of threads.
/// Errors:  Error{internal} if shapes disagree or an index is outside its table. On a GPU, rows with such an
///          index are skipped.
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

/// Copies the scaled rows of a tile of the table to the rows of `out` whose tokens select them.
///
/// Other rows do not change. A last call adds positions and dropout for all rows; the bits are those of
/// embedding_forward.
///
/// Shapes:  table [any, width]: the rows from `first` on
template <class T>
void embedding_tile_forward(const device::Stream& stream,
                            VectorAddress<const std::int32_t> tokens,
                            TensorAddress<const T, 2> table,
                            std::int64_t first,
                            TensorAddress<T, 2> out,
                            float table_factor = 1);
template <class T>
void embedding_positions_forward(const device::Stream& stream,
                                 VectorAddress<const std::int32_t> positions,
                                 TensorAddress<const T, 2> position_table,
                                 const Dropout& dropout,
                                 TensorAddress<T, 2> out);

/// Computes the gradient of a tile of one of the tables as embedding_backward does.
///
/// The tile begins at row `first`.
///
/// Rows of d_out that were looked up in other tiles are skipped.
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
