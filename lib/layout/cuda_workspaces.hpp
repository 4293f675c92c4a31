/// Scratch bytes of the kernels for GPUs.
#pragma once

#include <cstdint>
#include <optional>

#include "layout/attention_choice.hpp"
#include "layout/workspaces.hpp"

namespace ziggurat::layout {

/// Answers of kernels/cuda/*_cuda.cu, which check their workspaces with this class and take the constants
/// below from it.
class CudaWorkspaces final : public Workspaces {
  public:
    /// Of an H100: kernels that are as large as the GPU are cut for so many, so that sums have the same order
    /// on any.
    static constexpr std::int64_t multiprocessors = 132;
    /// Blocks into which sums of columns cut their rows, at most.
    static constexpr std::int64_t column_sum_blocks(std::int64_t width) {
        return (width <= 2048 ? 4 : 2) * multiprocessors;
    }
    /// Beginnings of what cuBLASLt and cuDNN put into a workspace are multiples of so many bytes.
    static constexpr std::int64_t alignment = 256;

    /// A CUDA context, and the code of kernels, which the driver loads when they are called first. A context
    /// was measured to take 107 MiB on a GPU of 34 multiprocessors and 555 MiB on one of 188 (RTX 4060 Ti,
    /// RTX PRO 6000; llama.cpp, pull request 23604): about 3 MiB each, 400 MiB for the 132 of an H100. As
    /// much again for the kernels of cuBLASLt, cuDNN and ours is an allowance.
    static constexpr std::int64_t library_bytes = std::int64_t{768} << 20;

    /// What cuDNN computes of attention's backward pass at a time: so many sequences, or of one sequence so
    /// many heads of keys and values, with their query heads.
    struct AttentionPiece {
        std::int64_t sequences, kv_heads;
    };

    explicit CudaWorkspaces(const AttentionUse& attention = {}) : attention_{attention} {}

    /// The smallest piece with four tiles of 128 queries for each multiprocessor, so that unequal tiles even
    /// out, or the largest smaller one that keeps to 2 GiB. None if our own kernels compute: sequences that
    /// are not whole tiles, head sizes that cuDNN does not support, and single heads above 2 GiB.
    static std::optional<AttentionPiece> attention_piece(const AttentionSizes& of);
    /// What cuDNN may use for the backward pass of one call: to have the same bits each time, it keeps the
    /// gradients of all scores in bfloat16, then the sum of each row, and of grouped heads the gradients of
    /// keys and values of every query head.
    ///
    /// Source: cuDNN's frontend 1.32, scaled_dot_product_flash_attention.h (use_dp_workspace, dK_fullhead)
    static std::int64_t attention_gradients(const AttentionSizes& of);
    /// True if our own kernels compute heads of this size on tensor cores, in bfloat16 without dropout.
    static constexpr bool has_tensor_cores(std::int64_t head_dim) {
        return head_dim % 8 == 0 && head_dim <= 128;
    }
    /// Their workspace in backward passes: a sum for each row of each query head.
    static constexpr std::int64_t attention_deltas(const AttentionSizes& of) {
        return of.batch * of.heads * of.seq * static_cast<std::int64_t>(sizeof(float));
    }
    static constexpr std::int64_t attention_forward_bytes = std::int64_t{4} << 10;
    /// Largest heads of which cuDNN has a backward pass on GPUs before compute capability 9.0.
    static constexpr std::int64_t most_head_dim_before_90 = 128;

    /// What one product and its two backward products may use at most: eight partial sums of the largest
    /// result in float, as sums that are cut in depth need them, and no more than 32 MiB, which NVIDIA
    /// recommends for the GPUs that profit most (cuBLAS, cublasSetWorkspace, "Hopper"). Equal for equal
    /// shapes, because cuBLASLt chooses by it.
    static std::int64_t product(std::int64_t rows, std::int64_t in, std::int64_t out);

    /// True if cuBLASLt computes GELU, or its gradient, in a product with so many columns.
    ///
    /// Source: cuBLAS 13.0, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD: a multiple of 8
    static constexpr bool fuses_gelu(std::int64_t columns) { return columns % 8 == 0; }

    std::int64_t linear(std::int64_t rows, std::int64_t in, std::int64_t out) const override;
    std::int64_t packed_linear(std::int64_t rows, std::int64_t in, std::int64_t out) const override;
    /// Nothing: products read a weight where it lies.
    std::int64_t packed_weight(std::int64_t in, std::int64_t out) const override;
    /// For cuDNN; our own forward kernels have their tiles in shared memory alone.
    std::int64_t attention_forward(const AttentionSizes& of) const override;
    std::int64_t attention_backward(const AttentionSizes& of) const override;
    std::int64_t column_sum(std::int64_t width) const override { return column_sum_bytes(width); }
    /// Multiples of 1024 rows, up to 1 GiB of bfloat16 or 2 GiB of float: each block reads and writes the
    /// head's whole gradient in float, which would cost more than its product if blocks were small.
    std::int64_t logits_rows(std::int64_t columns) const override;
    std::int64_t libraries() const override { return library_bytes; }

    /// Floats from one partial row of a column sum to the next.
    static constexpr std::int64_t column_sum_stride(std::int64_t width) { return (width + 15) / 16 * 16; }
    /// Partial rows of two sums (gain and bias) for each block of rows.
    static constexpr std::int64_t column_sum_bytes(std::int64_t width) {
        return column_sum_blocks(width) * column_sum_stride(width) * 2 *
               static_cast<std::int64_t>(sizeof(float));
    }

  private:
    AttentionUse attention_;
};

}  // namespace ziggurat::layout
