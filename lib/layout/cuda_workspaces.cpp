#include "layout/cuda_workspaces.hpp"

#include <algorithm>
#include <limits>

namespace ziggurat::layout {
namespace {

constexpr std::int64_t max_of_a_product = std::int64_t{32} << 20;
constexpr std::int64_t partial_sums = 8;

constexpr std::int64_t attention_tile = 128;  ///< tokens
constexpr std::int64_t max_head_dim = 256;
constexpr std::int64_t wanted_attention_tiles = 4 * CudaWorkspaces::multiprocessors;
constexpr std::int64_t max_of_attention = std::int64_t{2} << 30;

}  // namespace

std::int64_t CudaWorkspaces::product(std::int64_t rows, std::int64_t in, std::int64_t out) {
    const auto largest = std::max({rows * in, rows * out, in * out});
    const auto bytes = partial_sums * largest * static_cast<std::int64_t>(sizeof(float));
    return std::min(max_of_a_product, (bytes + alignment - 1) / alignment * alignment);
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
    // Gradients of the scores in bfloat16, or twice the sums of the queries' gradients in float.
    const auto gradients = of.any_order ? 2 * rows * of.head_dim * 4 : rows * of.seq * 2;
    const auto sums = rows * static_cast<std::int64_t>(sizeof(float));
    const auto of_each_head = of.kv_heads < of.heads ? 2 * rows * of.head_dim * 2 : 0;
    return gradients + sums + of_each_head + attention_forward_bytes;
}

std::optional<CudaWorkspaces::AttentionPiece> CudaWorkspaces::attention_piece(const AttentionSizes& of) {
    if (of.seq % attention_tile != 0 || of.head_dim % 8 != 0 || of.head_dim > max_head_dim) {
        return std::nullopt;
    }
    const auto group = of.heads / of.kv_heads;
    const auto bytes_of = [&](const AttentionPiece& piece) {
        return attention_gradients(
            {piece.sequences, of.seq, piece.kv_heads * group, piece.kv_heads, of.head_dim, of.any_order});
    };
    const auto tiles_of = [&](const AttentionPiece& piece) {
        return piece.sequences * piece.kv_heads * group * (of.seq / attention_tile);
    };
    // With little workspace for each head, one call computes as much as fits.
    const auto wanted_tiles =
        of.any_order ? std::numeric_limits<std::int64_t>::max() : wanted_attention_tiles;
    AttentionPiece piece{1, 1};
    // Raises a count to the next divisors of `all` until there are enough tiles.
    const auto grow = [&](std::int64_t AttentionPiece::*count, std::int64_t all) {
        for (auto next = piece; tiles_of(piece) < wanted_tiles && next.*count < all;) {
            next.*count += 1;
            if (all % (next.*count) == 0 && bytes_of(next) <= max_of_attention) {
                piece = next;
            }
        }
    };
    grow(&AttentionPiece::kv_heads, of.kv_heads);
    if (piece.kv_heads == of.kv_heads) {
        grow(&AttentionPiece::sequences, of.batch);
    }
    return bytes_of(piece) <= max_of_attention ? std::optional{piece} : std::nullopt;
}

std::int64_t CudaWorkspaces::logits_rows(std::int64_t columns) const {
    constexpr std::int64_t step = 1024;
    constexpr std::int64_t max_elements = std::int64_t{1} << 29;  // 1 GiB in bfloat16
    return std::max<std::int64_t>(1, max_elements / columns / step) * step;
}

std::int64_t CudaWorkspaces::attention_forward(const AttentionSizes& of) const {
    return choose_attention(attention_, of, any_capability, true).kernel == AttentionKernel::cudnn
               ? alignment + attention_forward_bytes
               : 0;
}

std::int64_t CudaWorkspaces::attention_backward(const AttentionSizes& of) const {
    std::int64_t bytes = 0;
    // Reserved even if cuDNN supports the call: the machine may not have cuDNN.
    if (choose_attention(attention_, of, any_capability, false).kernel == AttentionKernel::tensor_cores) {
        bytes = attention_deltas(of) * (attention_.is_ring ? 2 : 1);  // a rank has two blocks of queries
    }
    if (choose_attention(attention_, of, any_capability, true).kernel == AttentionKernel::cudnn) {
        const auto piece = attention_piece(of);
        const auto group = of.heads / of.kv_heads;
        bytes = std::max(bytes,
                         alignment + attention_gradients({piece->sequences, of.seq, piece->kv_heads * group,
                                                          piece->kv_heads, of.head_dim, of.any_order}));
    }
    return bytes;
}

}  // namespace ziggurat::layout
