#include "layout/workspace.hpp"

namespace ziggurat::layout {
namespace {

constexpr std::int64_t rounded_up(std::int64_t value, std::int64_t multiple) {
    return (value + multiple - 1) / multiple * multiple;
}

}  // namespace

std::int64_t packed_weight_bytes(std::int64_t in, std::int64_t out, int element_bytes) {
    return rounded_up(in, 64) * rounded_up(out, 64) * element_bytes;
}

std::int64_t linear_workspace_bytes(
    std::int64_t rows, std::int64_t in, std::int64_t out, int element_bytes, int threads) {
    const auto weight = packed_weight_bytes(in, out, element_bytes);
    const auto activation = element_bytes == 2 ? packed_weight_bytes(in, rows, element_bytes) : 0;
    const auto scratchpad = (std::int64_t{2} << 20) * threads;
    return (weight > activation ? weight : activation) + scratchpad;
}

std::int64_t attention_workspace_bytes(std::int64_t seq,
                                       std::int64_t head_dim,
                                       int element_bytes,
                                       int threads) {
    (void)element_bytes;
    return threads * (8 * rounded_up(seq, 64) * rounded_up(head_dim, 64) * 4 + (std::int64_t{512} << 10));
}

std::int64_t column_sum_workspace_bytes(std::int64_t width) {
    return column_sum_blocks * rounded_up(width, 16) * 2 * static_cast<std::int64_t>(sizeof(float));
}

}  // namespace ziggurat::layout
