/// Scratch bytes of the kernels for GPUs.
#pragma once

#include <cstdint>
#include <optional>

#include "layout/attention_choice.hpp"
#include "layout/workspaces.hpp"

namespace ziggurat::layout {

/// Scratch sizes of kernels/cuda/*_cuda.cu.
///
/// The kernels check their workspaces with this class and use its constants.
class CudaWorkspaces final : public Workspaces {
  public:
    /// Multiprocessors of an H100.
    ///
    /// Kernels that fill the GPU are divided into this number of parts on every GPU, so that sums have the
    /// same order on all of them.
    static constexpr std::int64_t multiprocessors = 132;
    /// Returns the maximum number of row blocks of a column sum.
    static constexpr std::int64_t column_sum_blocks(std::int64_t width) {
        return (width <= 2048 ? 4 : 2) * multiprocessors;
    }
    /// Alignment in bytes of the parts of a workspace that cuBLASLt and cuDNN use.
    static constexpr std::int64_t alignment = 256;

    /// Memory of a CUDA context and of kernel code, which the driver loads at each kernel's first call.
    ///
    /// A context was measured to take 107 MiB on a GPU of 34 multiprocessors and 555 MiB on one of 188 (RTX
    /// 4060 Ti, RTX PRO 6000; llama.cpp, pull request 23604). That is about 3 MiB each, or 400 MiB for the
    /// 132 of an H100. The same amount again is an allowance for the kernels of cuBLASLt, cuDNN and Ziggurat.
    static constexpr std::int64_t library_bytes = std::int64_t{768} << 20;

    /// Part of attention's backward pass that one cuDNN call computes.
    ///
    /// It is a number of sequences, or a number of key/value heads of one sequence, with their query heads.
    struct AttentionPiece {
        std::int64_t sequences, kv_heads;
    };

    explicit CudaWorkspaces(const AttentionUse& attention = {}) : attention_{attention} {}

    /// Returns the smallest piece with four tiles of 128 queries per multiprocessor.
    ///
    /// This number balances unequal tiles. With AttentionSizes::any_order, the piece is the whole call.
    ///
    /// If that piece exceeds 2 GiB, returns the largest smaller one within 2 GiB. Empty if Ziggurat's kernels
    /// compute: sequences that are not whole tiles, head sizes that cuDNN does not support, single heads
    /// above 2 GiB.
    static std::optional<AttentionPiece> attention_piece(const AttentionSizes& of);
    /// Returns the bytes that cuDNN may use for the backward pass of one call.
    ///
    /// To be deterministic, cuDNN stores the gradients of all scores in bfloat16, then the sum of each row.
    /// With AttentionSizes::any_order it adds to the gradients of queries in float instead, and its kernel
    /// for compute capability 9.0 has a second workspace of that size. For grouped heads it also stores the
    /// gradients of keys and values of every query head.
    ///
    /// Source: cuDNN's frontend 1.32, scaled_dot_product_flash_attention.h (use_dp_workspace, dQ_accum,
    /// dK_fullhead); the second workspace: tests/cuda/cudnn_test.cpp with cuDNN 9
    static std::int64_t attention_gradients(const AttentionSizes& of);
    /// True if Ziggurat's kernels compute heads of this size on tensor cores, in bfloat16 without dropout.
    static constexpr bool has_tensor_cores(std::int64_t head_dim) {
        return head_dim % 8 == 0 && head_dim <= 128;
    }
    /// Returns the workspace of their backward passes: one sum for each row of each query head.
    static constexpr std::int64_t attention_deltas(const AttentionSizes& of) {
        return of.batch * of.heads * of.seq * static_cast<std::int64_t>(sizeof(float));
    }
    static constexpr std::int64_t attention_forward_bytes = std::int64_t{4} << 10;
    /// Largest head size for which cuDNN has a backward pass on GPUs before compute capability 9.0.
    static constexpr std::int64_t max_head_dim_before_90 = 128;

    /// Returns the maximum workspace of one product and its two backward products.
    ///
    /// It holds eight partial sums of the largest result in float, which split-K sums need, but at most 32
    /// MiB. NVIDIA recommends 32 MiB for Hopper GPUs (cuBLAS, cublasSetWorkspace). The size depends only on
    /// shapes, because cuBLASLt chooses its algorithm by it.
    static std::int64_t product(std::int64_t rows, std::int64_t in, std::int64_t out);

    /// True if cuBLASLt computes GELU, or its gradient, in the epilogue of a product.
    ///
    /// Source: cuBLAS 13.0, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD: a multiple of 8
    static constexpr bool fuses_gelu(std::int64_t columns) { return columns % 8 == 0; }
    /// True if cuDNN computes dy[rows, out] w[out, width] and the gradient of a gated unit in one kernel.
    ///
    /// Its matrices begin at multiples of 16 bytes. So do the ups of a row, which begin after `width` gates.
    static constexpr bool fuses_glu(std::int64_t width, std::int64_t out) {
        return width % 8 == 0 && out % 8 == 0;
    }

    std::int64_t linear(std::int64_t rows, std::int64_t in, std::int64_t out) const override;
    std::int64_t packed_linear(std::int64_t rows, std::int64_t in, std::int64_t out) const override;
    /// Returns 0: products read weights in place.
    std::int64_t packed_weight(std::int64_t in, std::int64_t out) const override;
    /// Returns cuDNN's workspace. Ziggurat's forward kernels keep their tiles in shared memory only.
    std::int64_t attention_forward(const AttentionSizes& of) const override;
    std::int64_t attention_backward(const AttentionSizes& of) const override;
    std::int64_t cached_attention(const AttentionSizes&) const override { return 0; }
    std::int64_t column_sum(std::int64_t width) const override { return column_sum_bytes(width); }
    /// Returns a multiple of 1024 rows, up to 1 GiB of bfloat16 or 2 GiB of float.
    ///
    /// Each block reads and writes the head's whole gradient in float. With small blocks that would cost more
    /// than the product.
    std::int64_t logits_rows(std::int64_t columns) const override;
    std::int64_t libraries() const override { return library_bytes; }

    /// Returns the distance in floats between partial rows of a column sum.
    static constexpr std::int64_t column_sum_stride(std::int64_t width) { return (width + 15) / 16 * 16; }
    /// Returns the bytes of the partial rows of two sums (gain and bias) for each block of rows.
    static constexpr std::int64_t column_sum_bytes(std::int64_t width) {
        return column_sum_blocks(width) * column_sum_stride(width) * 2 *
               static_cast<std::int64_t>(sizeof(float));
    }

  private:
    AttentionUse attention_;
};

}  // namespace ziggurat::layout
