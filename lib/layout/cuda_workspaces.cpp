#include "layout/cuda_workspaces.hpp"

#include <algorithm>

namespace ziggurat::layout {
namespace {

constexpr std::int64_t most_of_a_product = std::int64_t{32} << 20;
constexpr std::int64_t partial_sums = 8;

constexpr std::int64_t attention_tile = 128;  ///< tokens
constexpr std::int64_t most_head_dim = 256;
constexpr std::int64_t wanted_of_attention = std::int64_t{256} << 20;
constexpr std::int64_t most_of_attention = std::int64_t{2} << 30;

}  // namespace

std::int64_t CudaWorkspaces::product(std::int64_t rows, std::int64_t in, std::int64_t out) {
    const auto largest = std::max({rows * in, rows * out, in * out});
    const auto bytes = partial_sums * largest * static_cast<std::int64_t>(sizeof(float));
    return std::min(most_of_a_product, (bytes + alignment - 1) / alignment * alignment);
}

std::int64_t CudaWorkspaces::linear(std::int64_t rows, std::int64_t in, std::int64_t out) const {
    return alignment + product(rows, in, out);
}

std::int64_t CudaWorkspaces::packed_linear(std::int64_t rows, std::int64_t in, std::int64_t out) const {
    return linear(rows, in, out);
}

std::int64_t CudaWorkspaces::packed_weight(std::int64_t, std::int64_t) const {
    return 0;
}

std::int64_t CudaWorkspaces::attention_gradients(const AttentionSizes& of) {
    const auto rows = of.batch * of.heads * of.seq;
    const auto scores = rows * of.seq * 2;
    const auto sums = rows * static_cast<std::int64_t>(sizeof(float));
    const auto of_each_head = of.kv_heads < of.heads ? 2 * rows * of.head_dim * 2 : 0;
    return scores + sums + of_each_head + attention_forward_bytes;
}

std::optional<CudaWorkspaces::AttentionPiece> CudaWorkspaces::attention_piece(const AttentionSizes& of) {
    if (of.seq % attention_tile != 0 || of.head_dim % 8 != 0 || of.head_dim > most_head_dim) {
        return std::nullopt;
    }
    const auto bytes_of = [&](const AttentionPiece& piece) {
        const auto group = of.heads / of.kv_heads;
        return attention_gradients(
            {piece.sequences, of.seq, piece.kv_heads * group, piece.kv_heads, of.head_dim});
    };
    AttentionPiece piece{of.batch, of.kv_heads};
    const auto cut = [&](std::int64_t& count, std::int64_t all) {
        while (count > 1 && bytes_of(piece) > wanted_of_attention) {
            do {
                --count;
            } while (all % count != 0);
        }
    };
    cut(piece.sequences, of.batch);
    cut(piece.kv_heads, of.kv_heads);
    return bytes_of(piece) <= most_of_attention ? std::optional{piece} : std::nullopt;
}

std::int64_t CudaWorkspaces::attention_forward(const AttentionSizes& of) const {
    return attends_plainly_ && attention_piece(of) ? alignment + attention_forward_bytes : 0;
}

std::int64_t CudaWorkspaces::attention_backward(const AttentionSizes& of) const {
    const auto piece = attends_plainly_ ? attention_piece(of) : std::nullopt;
    if (!piece) {
        return 0;
    }
    const auto group = of.heads / of.kv_heads;
    return alignment + attention_gradients(
                           {piece->sequences, of.seq, piece->kv_heads * group, piece->kv_heads, of.head_dim});
}

}  // namespace ziggurat::layout
