/// Scratch bytes of the kernels for GPUs.
#pragma once

#include <cstdint>
#include <optional>

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

    /// \param attends_plainly  attention is of bfloat16, without dropout, and sees whole sequences
    explicit CudaWorkspaces(bool attends_plainly = false) : attends_plainly_{attends_plainly} {}

    /// The largest piece that keeps to 256 MiB, else the smallest one up to 2 GiB. None where our own kernels
    /// compute: other sequences than those of whole tiles of 128 tokens, and channels that cuDNN does not
    /// take.
    static std::optional<AttentionPiece> attention_piece(const AttentionSizes& of);
    /// What cuDNN may use for the backward pass of one call: to have the same bits each time, it keeps the
    /// gradients of all scores in bfloat16, then the sum of each row, and of grouped heads the gradients of
    /// keys and values of every query head.
    ///
    /// Source: cuDNN's frontend 1.32, scaled_dot_product_flash_attention.h (use_dp_workspace, dK_fullhead)
    static std::int64_t attention_gradients(const AttentionSizes& of);
    static constexpr std::int64_t attention_forward_bytes = std::int64_t{4} << 10;

    /// What one product and its two backward products may use at most: eight partial sums of the largest
    /// result in float, as sums that are cut in depth need them, and no more than 32 MiB, which NVIDIA
    /// recommends for the GPUs that profit most (cuBLAS, cublasSetWorkspace, "Hopper"). Equal for equal
    /// shapes, because cuBLASLt chooses by it.
    static std::int64_t product(std::int64_t rows, std::int64_t in, std::int64_t out);

    std::int64_t linear(std::int64_t rows, std::int64_t in, std::int64_t out) const override;
    std::int64_t packed_linear(std::int64_t rows, std::int64_t in, std::int64_t out) const override;
    /// Nothing: products read a weight where it lies.
    std::int64_t packed_weight(std::int64_t in, std::int64_t out) const override;
    /// For cuDNN. Nothing where our own kernels compute: their tiles of scores lie in shared memory.
    std::int64_t attention_forward(const AttentionSizes& of) const override;
    std::int64_t attention_backward(const AttentionSizes& of) const override;
    std::int64_t column_sum(std::int64_t width) const override { return column_sum_bytes(width); }
    std::int64_t libraries() const override { return library_bytes; }

    /// Floats from one partial row of a column sum to the next.
    static constexpr std::int64_t column_sum_stride(std::int64_t width) { return (width + 15) / 16 * 16; }
    /// Partial rows of two sums (gain and bias) for each block of rows.
    static constexpr std::int64_t column_sum_bytes(std::int64_t width) {
        return column_sum_blocks(width) * column_sum_stride(width) * 2 *
               static_cast<std::int64_t>(sizeof(float));
    }

  private:
    bool attends_plainly_;
};

}  // namespace ziggurat::layout
