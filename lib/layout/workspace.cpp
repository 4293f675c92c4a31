#include "layout/workspace.hpp"

#include <algorithm>

namespace ziggurat::layout {
namespace {

constexpr std::int64_t rounded_up(std::int64_t value, std::int64_t multiple) {
    return (value + multiple - 1) / multiple * multiple;
}

/// What kernels lose by beginning at a multiple of 64 bytes.
constexpr std::int64_t alignment = 64;

/// Rows of x that are packed at a time for the gradient of a weight (kernels/linear_products.hpp).
constexpr std::int64_t rows_packed_at_once = 1024;

}  // namespace

std::int64_t packed_weight_bytes(std::int64_t in, std::int64_t out, int element_bytes) {
    return rounded_up(in, 64) * rounded_up(out, 64) * element_bytes;
}

std::int64_t packed_linear_workspace_bytes(std::int64_t rows,
                                           std::int64_t in,
                                           int element_bytes,
                                           int threads) {
    const auto activation =
        element_bytes == 2 ? packed_weight_bytes(in, std::min(rows, rows_packed_at_once), element_bytes) : 0;
    const auto scratchpad =
        (std::int64_t{2} << 20) * threads;  // 1.64 MiB is the most that oneDNN was seen to ask
    return alignment + activation + scratchpad;
}

std::int64_t linear_workspace_bytes(
    std::int64_t rows, std::int64_t in, std::int64_t out, int element_bytes, int threads) {
    const auto of_rest = packed_linear_workspace_bytes(rows, in, element_bytes, threads);
    const auto scratchpad = packed_linear_workspace_bytes(0, in, element_bytes, threads);
    return std::max(of_rest, packed_weight_bytes(in, out, element_bytes) + scratchpad);
}

std::int64_t attention_workspace_bytes(std::int64_t seq,
                                       std::int64_t head_dim,
                                       int element_bytes,
                                       int threads) {
    (void)element_bytes;  // machines without products of bfloat16 pairs pack bfloat16 as floats
    const auto rows = rounded_up(seq, 64);
    const auto operands = 8 * rows * rounded_up(head_dim, 64);  // q, k twice, v, dO; and dQ, dK, dV
    const auto tiles = std::int64_t{512} << 10;
    return alignment + threads * ((operands + rows) * 4 + tiles);
}

std::int64_t column_sum_workspace_bytes(std::int64_t width) {
    return column_sum_blocks * rounded_up(width, 16) * 2 * static_cast<std::int64_t>(sizeof(float));
}

}  // namespace ziggurat::layout
