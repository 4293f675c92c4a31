/// PartialSums: column sums over blocks of rows, and their sum in a fixed order.
///
/// Only *_cuda.cu files include it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/contract.hpp"
#include "kernels/cuda/launch_cuda.hpp"
#include "kernels/cuda/rows_cuda.hpp"
#include "kernels/launch/step_inputs.hpp"
#include "layout/cuda_workspaces.hpp"
#include "tensor/tensor_ref.hpp"

namespace ziggurat::kernels::cuda {

/// Up to two sums of each column for each of `blocks` blocks of rows.
///
/// They are in a workspace of layout::Workspaces::column_sum.
struct PartialSums {
    PartialSums(std::int64_t rows_, std::int64_t width_, std::int64_t blocks_, std::span<std::byte> workspace)
        : rows{rows_},
          width{width_},
          stride{layout::CudaWorkspaces::column_sum_stride(width_)},
          blocks{blocks_},
          sums{reinterpret_cast<float*>(workspace.data())} {
        ZG_EXPECTS(blocks <= layout::CudaWorkspaces::column_sum_blocks(width));
        ZG_EXPECTS(static_cast<std::int64_t>(workspace.size()) >=
                   layout::CudaWorkspaces::column_sum_bytes(width));
    }

    __device__ std::int64_t first_row(std::int64_t block) const { return block * rows / blocks; }
    /// Returns the sums with number `sum` of the columns of a block of rows.
    __device__ float* of_block(std::int64_t block, int sum) const {
        return sums + (2 * block + sum) * stride;
    }

    std::int64_t rows, width, stride, blocks;
    float* sums;
};

/// Warps of a block of finish_sums.
inline constexpr int finish_warps = 16;

/// Adds the partial sums.
///
/// Blocks of the grid compute the first sum, then the second, with a lane for each column.
///
/// Each warp adds every n-th block of rows. The sums of the warps are then added in order.
static __global__ void __launch_bounds__(finish_warps* warp_size)
    finish_sums(PartialSums partial, Accumulate accumulate, float* first, float* second) {
    __shared__ float of_warps[finish_warps][warp_size];
    const int warp = static_cast<int>(threadIdx.x) / warp_size;
    const int lane = static_cast<int>(threadIdx.x) % warp_size;
    const auto blocks_of_a_sum = (partial.width + warp_size - 1) / warp_size;
    const int sum = blockIdx.x < blocks_of_a_sum ? 0 : 1;
    const auto column = (blockIdx.x - sum * blocks_of_a_sum) * warp_size + lane;
    float* const out = sum == 0 ? first : second;
    if (out == nullptr) {
        return;
    }
    float total = 0;
    if (column < partial.width) {
#pragma unroll 8
        for (std::int64_t block = warp; block < partial.blocks; block += finish_warps) {
            total += partial.of_block(block, sum)[column];
        }
    }
    of_warps[warp][lane] = total;
    __syncthreads();
    if (warp == 0 && column < partial.width) {
#pragma unroll
        for (int of = 1; of < finish_warps; ++of) {
            total += of_warps[of][lane];
        }
        out[column] = accumulate == Accumulate::yes ? out[column] + total : total;
    }
}

/// Computes first and second = (or +=) the two sums; an empty one is skipped.
inline void finish(const device::Stream& stream,
                   const PartialSums& partial,
                   Accumulate accumulate,
                   tensor::TensorRef<float, 1> first,
                   tensor::TensorRef<float, 1> second = {}) {
    const auto blocks = (partial.width + warp_size - 1) / warp_size;
    launch_grid(stream, "sums of columns", {second.empty() ? blocks : 2 * blocks, finish_warps * warp_size},
                finish_sums, partial, accumulate, first.empty() ? nullptr : first.data,
                second.empty() ? nullptr : second.data);
}

}  // namespace ziggurat::kernels::cuda
