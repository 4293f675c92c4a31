/// How many bytes of scratch each kernel may use: the one truth for the plan, the arenas and the kernels.
#pragma once

#include <cstdint>

namespace ziggurat::layout {

/// Scratch of one product y[rows, out] = x[rows, in] w[out, in]^T and of its two backward products: the
/// packed operand and the library's scratchpad. `element_bytes` is that of the compute type.
std::int64_t linear_workspace_bytes(
    std::int64_t rows, std::int64_t in, std::int64_t out, int element_bytes, int threads);

/// The same for a product of which the weight is packed already, and for the weight's gradient.
std::int64_t packed_linear_workspace_bytes(std::int64_t rows,
                                           std::int64_t in,
                                           int element_bytes,
                                           int threads);

/// Bytes of the weight [out, in], packed for one of its products.
std::int64_t packed_weight_bytes(std::int64_t in, std::int64_t out, int element_bytes);

/// Scratch of attention over sequences of `seq` tokens, forward and backward.
std::int64_t attention_workspace_bytes(std::int64_t seq,
                                       std::int64_t head_dim,
                                       int element_bytes,
                                       int threads);

/// Into how many blocks column sums cut their rows, whatever the number of threads: the order of their sums.
inline constexpr std::int64_t column_sum_blocks = 32;

/// Scratch of column sums over a matrix of `width` columns (norm gains, biases): one partial row per block of
/// rows.
std::int64_t column_sum_workspace_bytes(std::int64_t width);

}  // namespace ziggurat::layout
