#include "layout/host_workspaces.hpp"

#include <algorithm>

#include "base/round_up.hpp"

namespace ziggurat::layout {

std::int64_t HostWorkspaces::packed_weight(std::int64_t in, std::int64_t out) const {
    return round_up(in, 64) * round_up(out, 64) * element_bytes_;
}

std::int64_t HostWorkspaces::packed_linear(std::int64_t rows, std::int64_t in, std::int64_t) const {
    const auto activation = element_bytes_ == 2 ? packed_weight(in, std::min(rows, rows_packed_at_once)) : 0;
    const auto scratchpad =
        // Largest request of oneDNN that was observed: 1.64 MiB.
        (std::int64_t{2} << 20) * threads_;
    return alignment + activation + scratchpad;
}

std::int64_t HostWorkspaces::linear(std::int64_t rows, std::int64_t in, std::int64_t out) const {
    return std::max(packed_linear(rows, in, out), packed_weight(in, out) + packed_linear(0, in, out));
}

std::int64_t HostWorkspaces::attention(std::int64_t seq, std::int64_t head_dim) const {
    // Independent of the compute type: machines without bfloat16 dot products pack bfloat16 as floats.
    const auto rows = round_up(seq, 64);
    const auto operands = 8 * rows * round_up(head_dim, 64);  // q, k twice, v, dO; and dQ, dK, dV
    const auto tiles = std::int64_t{512} << 10;
    return alignment + threads_ * ((operands + rows) * 4 + tiles);
}

std::int64_t HostWorkspaces::cached_attention(const AttentionSizes& of) const {
    const auto width = round_up(of.head_dim, 64);
    const auto keys_and_values = 2 * 512 * width;
    const auto of_head = (64 + 96) * width;  // packed queries, and sums
    const auto heads = of.heads / of.kv_heads + 1;
    const auto tiles = std::int64_t{64} << 10;
    return alignment + threads_ * ((keys_and_values + heads * (of_head + 256)) * 4 + tiles);
}

}  // namespace ziggurat::layout
