/// Sums over rows whose order does not depend on the number of threads.
///
/// Only *_host.cpp files include it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/contract.hpp"
#include "kernels/host/rows_host.hpp"
#include "kernels/launch/step_inputs.hpp"
#include "layout/host_workspaces.hpp"
#include "tensor/tensor_ref.hpp"

namespace ziggurat::kernels::host {

/// Division of rows into a fixed number of blocks with partial rows, which are added in order.
///
/// The partial rows are in a workspace of layout::HostWorkspaces::column_sum_bytes(width): up to two sums
/// (gain and bias) at a time.
class ColumnSumBlocks {
  public:
    ColumnSumBlocks(std::int64_t rows, std::int64_t width, std::span<std::byte> workspace)
        : rows_{rows},
          width_{width},
          stride_{layout::HostWorkspaces::column_sum_stride(width)},
          partials_{reinterpret_cast<float*>(workspace.data())} {
        ZG_EXPECTS(static_cast<std::int64_t>(workspace.size()) >=
                   layout::HostWorkspaces::column_sum_bytes(width));
        ZG_EXPECTS(reinterpret_cast<std::uintptr_t>(workspace.data()) % alignof(float) == 0);
    }

    /// Calls body(first row, end row, partial row of sum 0, partial row of sum 1) for each block.
    ///
    /// Partial rows start at zero.
    template <class Body>
    void for_each(const char* name, const Body& body) const {
        for_rows(name, blocks, [&](std::int64_t block) {
            float* first = partial(block, 0);
            std::fill_n(first, 2 * stride_, 0.0f);
            body(block * rows_ / blocks, (block + 1) * rows_ / blocks, first, first + stride_);
        });
    }

    /// Computes out = (or +=) the partial rows of one of the two sums, in the order of the blocks.
    void finish(int sum, tensor::TensorRef<float, 1> out, Accumulate accumulate) const {
        if (accumulate == Accumulate::no) {
            std::fill_n(out.data, width_, 0.0f);
        }
        float total[run_length];
        for (std::int64_t first = 0; first < width_; first += run_length) {
            const auto count = std::min(run_length, width_ - first);
            std::fill_n(total, count, 0.0f);
            for (std::int64_t block = 0; block < blocks; ++block) {
                add(partial(block, sum) + first, total, count);
            }
            add(total, out.data + first, count);
        }
    }

  private:
    static constexpr std::int64_t blocks = layout::HostWorkspaces::column_sum_blocks;
    static constexpr std::int64_t run_length = 512;

    float* partial(std::int64_t block, int sum) const noexcept {
        return partials_ + (2 * block + sum) * stride_;
    }

    static void add(const float* from, float* to, std::int64_t count) {
#pragma omp simd
        for (std::int64_t c = 0; c < count; ++c) {
            to[c] += from[c];
        }
    }

    std::int64_t rows_;
    std::int64_t width_;
    std::int64_t stride_;
    float* partials_;
};

}  // namespace ziggurat::kernels::host
