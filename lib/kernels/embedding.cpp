#include "kernels/embedding.hpp"

#include "base/contract.hpp"
#include "kernels/launch/dropout_check.hpp"
#include "kernels/launch/launch.hpp"
#include "tensor/bfloat16.hpp"

namespace ziggurat::kernels {

namespace {

using Indices = VectorAddress<const std::int32_t>;

/// Returns true if the table of positions is absent or has the right shape.
template <class T>
bool are_positions(Indices positions,
                   TensorAddress<const T, 2> table,
                   std::int64_t rows,
                   std::int64_t width) {
    return table.empty() || (positions.extent(0) == rows && table.extent(1) == width);
}

/// Returns true if the gradient of a table is not requested or has the right shape.
bool is_gradient(Indices indices, TensorAddress<float, 2> table, std::int64_t rows, std::int64_t width) {
    return table.empty() || (indices.extent(0) == rows && table.extent(1) == width);
}

}  // namespace

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
                       float table_factor) {
    ZG_EXPECTS(tokens.extent(0) == out.extent(0) && table.extent(1) == out.extent(1));
    ZG_EXPECTS(first >= 0 && first + table.extent(0) <= vocab);
    ZG_EXPECTS(are_positions(positions, position_table, out.extent(0), out.extent(1)));
    check_dropout_alone(dropout, out.extent(0));
    launch<embedding_forward<T>>(stream, tokens, positions, table, first, vocab, position_table, dropout, out,
                                 table_factor);
}

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
                        float table_scale) {
    ZG_EXPECTS(is_gradient(tokens, d_table, d_out.extent(0), d_out.extent(1)));
    ZG_EXPECTS(d_table.empty() || (first >= 0 && first + d_table.extent(0) <= vocab));
    ZG_EXPECTS(is_gradient(positions, d_position_table, d_out.extent(0), d_out.extent(1)));
    check_dropout_alone(dropout, d_out.extent(0));
    launch<embedding_backward<T>>(stream, tokens, positions, d_out, dropout, d_table, first, vocab,
                                  accumulate_table, d_position_table, accumulate_position_table, table_scale);
}

template <class T>
void embedding_tile_forward(const device::Stream& stream,
                            VectorAddress<const std::int32_t> tokens,
                            TensorAddress<const T, 2> table,
                            std::int64_t first,
                            TensorAddress<T, 2> out,
                            float table_factor) {
    ZG_EXPECTS(tokens.extent(0) == out.extent(0) && table.extent(1) == out.extent(1));
    launch<embedding_tile_forward<T>>(stream, tokens, table, first, out, table_factor);
}

template <class T>
void embedding_positions_forward(const device::Stream& stream,
                                 VectorAddress<const std::int32_t> positions,
                                 TensorAddress<const T, 2> position_table,
                                 const Dropout& dropout,
                                 TensorAddress<T, 2> out) {
    ZG_EXPECTS(are_positions(positions, position_table, out.extent(0), out.extent(1)));
    check_dropout_alone(dropout, out.extent(0));
    launch<embedding_positions_forward<T>>(stream, positions, position_table, dropout, out);
}

template <class T>
void embedding_tile_backward(const device::Stream& stream,
                             VectorAddress<const std::int32_t> indices,
                             std::int64_t first,
                             TensorAddress<const T, 2> d_out,
                             const Dropout& dropout,
                             TensorAddress<float, 2> d_table,
                             Accumulate accumulate,
                             float scale) {
    ZG_EXPECTS(indices.extent(0) == d_out.extent(0) && d_table.extent(1) == d_out.extent(1));
    check_dropout_alone(dropout, d_out.extent(0));
    launch<embedding_tile_backward<T>>(stream, indices, first, d_out, dropout, d_table, accumulate, scale);
}

template decltype(embedding_forward<float>) embedding_forward<float>;
template decltype(embedding_forward<tensor::bfloat16>) embedding_forward<tensor::bfloat16>;
template decltype(embedding_backward<float>) embedding_backward<float>;
template decltype(embedding_backward<tensor::bfloat16>) embedding_backward<tensor::bfloat16>;
template decltype(embedding_tile_forward<float>) embedding_tile_forward<float>;
template decltype(embedding_tile_forward<tensor::bfloat16>) embedding_tile_forward<tensor::bfloat16>;
template decltype(embedding_positions_forward<float>) embedding_positions_forward<float>;
template decltype(embedding_positions_forward<tensor::bfloat16>)
    embedding_positions_forward<tensor::bfloat16>;
template decltype(embedding_tile_backward<float>) embedding_tile_backward<float>;
template decltype(embedding_tile_backward<tensor::bfloat16>) embedding_tile_backward<tensor::bfloat16>;

}  // namespace ziggurat::kernels
