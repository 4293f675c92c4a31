/// Scratch bytes of the host's kernels.
#pragma once

#include <cstdint>

#include "layout/workspaces.hpp"

namespace ziggurat::layout {

/// Scratch sizes of kernels/host/*_host.cpp.
///
/// The kernels check their workspaces with this class and use its constants.
class HostWorkspaces final : public Workspaces {
  public:
    /// Rows of x that are packed at a time for the gradient of a weight.
    static constexpr std::int64_t rows_packed_at_once = 1024;
    /// Rows of x up to which a product that reads the weight in place is faster than one that packs it.
    static constexpr std::int64_t max_rows_in_place = 8;
    /// Row blocks of a column sum.
    ///
    /// Independent of the number of threads, because it determines the sum's order.
    static constexpr std::int64_t column_sum_blocks = 32;
    /// Alignment in bytes of the parts of a workspace.
    static constexpr std::int64_t alignment = 64;

    HostWorkspaces(std::int64_t element_bytes, int threads)
        : element_bytes_{element_bytes}, threads_{threads} {}

    std::int64_t linear(std::int64_t rows, std::int64_t in, std::int64_t out) const override;
    std::int64_t packed_linear(std::int64_t rows, std::int64_t in, std::int64_t out) const override;
    std::int64_t packed_weight(std::int64_t in, std::int64_t out) const override;
    std::int64_t attention(std::int64_t seq, std::int64_t head_dim) const;
    std::int64_t attention_forward(const AttentionSizes& of) const override {
        return attention(of.seq, of.head_dim);
    }
    std::int64_t attention_backward(const AttentionSizes& of) const override {
        return attention(of.seq, of.head_dim);
    }
    std::int64_t cached_attention(const AttentionSizes& of) const override;
    std::int64_t column_sum(std::int64_t width) const override { return column_sum_bytes(width); }
    /// Returns few enough rows that the logits of a block stay in cache between its ops.
    std::int64_t logits_rows(std::int64_t) const override { return rows_packed_at_once; }
    std::int64_t libraries() const override { return 0; }

    /// Returns the distance in floats between partial rows of a column sum.
    static constexpr std::int64_t column_sum_stride(std::int64_t width) { return (width + 15) / 16 * 16; }
    /// Returns the bytes of the partial rows of two sums (gain and bias) for each block of rows.
    static constexpr std::int64_t column_sum_bytes(std::int64_t width) {
        return column_sum_blocks * column_sum_stride(width) * 2 * static_cast<std::int64_t>(sizeof(float));
    }

  private:
    std::int64_t element_bytes_;
    int threads_;
};

}  // namespace ziggurat::layout
