/// ColumnSums: sums over the rows of a matrix in a fixed order; only *_cuda.cu files include it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/contract.hpp"
#include "kernels/cuda/launch_cuda.hpp"
#include "kernels/step_inputs.hpp"
#include "layout/cuda_workspaces.hpp"
#include "tensor/tensor_ref.hpp"

namespace ziggurat::kernels::cuda {

/// Sums over fixed blocks of rows, which are added in order, in a workspace of
/// layout::Workspaces::column_sum: up to two sums at a time. A thread sums one column of one block.
struct ColumnSums {
    static constexpr std::int64_t blocks = layout::CudaWorkspaces::column_sum_blocks;

    ColumnSums(std::int64_t rows_, std::int64_t width_, std::span<std::byte> workspace)
        : rows{rows_},
          width{width_},
          stride{layout::CudaWorkspaces::column_sum_stride(width_)},
          partials{reinterpret_cast<float*>(workspace.data())} {
        ZG_EXPECTS(static_cast<std::int64_t>(workspace.size()) >=
                   layout::CudaWorkspaces::column_sum_bytes(width));
    }

    Grid grid() const { return a_thread_each(blocks * width); }

    /// The block and the column of this thread, which has none where the block is `blocks` or more.
    __device__ std::int64_t block() const { return thread_of_grid() / width; }
    __device__ std::int64_t column() const { return thread_of_grid() % width; }
    __device__ std::int64_t first_row(std::int64_t block) const { return block * rows / blocks; }
    __device__ float& partial(std::int64_t block, int sum, std::int64_t column) const {
        return partials[(2 * block + sum) * stride + column];
    }

    std::int64_t rows, width, stride;
    float* partials;
};

static __global__ void __launch_bounds__(256)
    finish_column_sum(ColumnSums sums, int sum, Accumulate accumulate, float* out) {
    const auto column = thread_of_grid();
    if (column >= sums.width) {
        return;
    }
    float total = 0;
    for (std::int64_t block = 0; block < ColumnSums::blocks; ++block) {
        total += sums.partial(block, sum, column);
    }
    out[column] = accumulate == Accumulate::yes ? out[column] + total : total;
}

/// out = (or +=) one of the two sums; nothing where `out` is empty.
inline void finish(const device::Stream& stream,
                   const ColumnSums& sums,
                   int sum,
                   Accumulate accumulate,
                   tensor::TensorRef<float, 1> out) {
    if (!out.empty()) {
        launch_grid(stream, "finish_column_sum", a_thread_each(sums.width), finish_column_sum, sums, sum,
                    accumulate, out.data);
    }
}

}  // namespace ziggurat::kernels::cuda
