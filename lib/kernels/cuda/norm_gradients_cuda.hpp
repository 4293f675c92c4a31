/// Backward passes of norms, which read and write each row once; only *_cuda.cu files include it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/cuda/norm_rows_cuda.hpp"
#include "kernels/cuda/partial_sums_cuda.hpp"

namespace ziggurat::kernels::cuda {

/// Arguments of a backward pass. An RMS norm is a layer norm whose rows are not centred.
template <class T>
struct NormGradients {
    bool is_aligned;
    const T* x;
    const T* dy;
    const T* gain;
    const float* mean;     ///< mean of each row, if rows are centred
    const float* inverse;  ///< inverse of each row's standard deviation, or root mean square
    T* dx;                 ///< accumulated
    PartialSums sums;      ///< of the gradients of the gain and, if rows are centred, the bias
    bool keeps_sums;       ///< false: the sums are not requested
};

/// One row of a backward pass.
template <bool is_centred, class T>
class NormGradientRow {
  public:
    __device__ NormGradientRow(const NormGradients<T>& of, std::int64_t row)
        : of_{of},
          at_{row * of.sums.width},
          mean_{is_centred ? of.mean[row] : 0.0F},
          inverse_{of.inverse[row]} {}

    __device__ void load(int begin, int count, RawPack<T>& x, RawPack<T>& dy, RawPack<T>& dx) const {
        x = load_raw(of_.x + at_ + begin, count, of_.is_aligned);
        dy = load_raw(of_.dy + at_ + begin, count, of_.is_aligned);
        dx = load_raw(static_cast<const T*>(of_.dx) + at_ + begin, count, of_.is_aligned);
    }

    /// Adds a pack to the sum of dy * gain, and to the sum of its product with the normalized row.
    __device__ void look(
        int begin, int count, const RawPack<T>& raw_x, const RawPack<T>& raw_dy, float (&sums)[2]) const {
        float x[pack], dy[pack], gain[pack];
        raw_x.to_floats(x);
        raw_dy.to_floats(dy);
        load_some(of_.gain + begin, count, of_.is_aligned, gain);
#pragma unroll
        for (int i = 0; i < pack; ++i) {
            const float scaled = dy[i] * gain[i];  // 0 after the row's end
            sums[0] += scaled;
            sums[1] = std::fma(scaled, (x[i] - mean_) * inverse_, sums[1]);
        }
    }

    /// Adds a pack's gradient to dx, stores it, and adds to the sums of its columns.
    __device__ void add(int begin,
                        int count,
                        float mean_sum,
                        float mean_projection,
                        const RawPack<T>& raw_x,
                        const RawPack<T>& raw_dy,
                        const RawPack<T>& raw_dx,
                        float (&d_gain)[pack],
                        float (&d_bias)[pack]) const {
        float x[pack], dy[pack], dx[pack], gain[pack];
        raw_x.to_floats(x);
        raw_dy.to_floats(dy);
        raw_dx.to_floats(dx);
        load_some(of_.gain + begin, count, of_.is_aligned, gain);
#pragma unroll
        for (int i = 0; i < pack; ++i) {
            const float normalized = (x[i] - mean_) * inverse_;
            const float centred = dy[i] * gain[i] - mean_sum;  // rounded as above: 0 for equal terms
            dx[i] = std::fma(inverse_, std::fma(-normalized, mean_projection, centred), dx[i]);
            d_gain[i] = std::fma(dy[i], normalized, d_gain[i]);
            d_bias[i] += dy[i];
        }
        store_some(of_.dx + at_ + begin, count, of_.is_aligned, dx);
    }

  private:
    const NormGradients<T>& of_;
    std::int64_t at_;
    float mean_, inverse_;
};

/// Adds the sums of all other groups of a block to the first group's `own`, in order.
///
/// All threads of the block must call it.
///
/// \param of_groups  __shared__ memory
__device__ inline void add_other_groups(float (&own)[pack],
                                        int groups,
                                        float (&of_groups)[max_norm_threads * pack]) {
    const int threads = static_cast<int>(blockDim.x) / groups;
    const int thread = static_cast<int>(threadIdx.x);
    __syncthreads();  // all have read the previous content
#pragma unroll
    for (int i = 0; i < pack; ++i) {
        of_groups[thread * pack + i] = own[i];
    }
    __syncthreads();
    for (int other = 1; thread < threads && other < groups; ++other) {
#pragma unroll
        for (int i = 0; i < pack; ++i) {
            own[i] += of_groups[(other * threads + thread) * pack + i];
        }
    }
}

/// One thread block computes one block of rows.
///
/// Each group of its threads processes every n-th row, adds to dx, and sums its columns in registers. For
/// wide rows, the sums of further packs are in the workspace.
template <bool is_centred, bool is_wide, class T>
__global__ void __launch_bounds__(max_norm_threads) add_norm_gradients(NormGradients<T> of, int threads) {
    __shared__ float of_warps[2][max_norm_warps];
    __shared__ float of_groups[max_norm_threads * pack];
    const NormThread me{threads};
    const int groups = static_cast<int>(blockDim.x) / threads;
    const int width = static_cast<int>(of.sums.width);

    const std::int64_t block = blockIdx.x;
    float* const gain_sums = of.sums.of_block(block, 0);
    float* const bias_sums = of.sums.of_block(block, 1);
    float d_gain[packs_kept<is_wide>][pack] = {};
    float d_bias[packs_kept<is_wide>][pack] = {};
    const int first = static_cast<int>(of.sums.first_row(block));
    const int end = static_cast<int>(of.sums.first_row(block + 1));
    RawPack<T> x[packs_kept<is_wide>], dy[packs_kept<is_wide>], dx[packs_kept<is_wide>];
    const auto load_row = [&](int rows, RawPack<T>(&to_x)[packs_kept<is_wide>],
                              RawPack<T>(&to_dy)[packs_kept<is_wide>],
                              RawPack<T>(&to_dx)[packs_kept<is_wide>]) {
        if (rows + me.group < end) {
            const NormGradientRow<is_centred, T> row{of, rows + me.group};
            me.for_kept<is_wide>(width, [&](int k, int begin, int count) {
                row.load(begin, count, to_x[k], to_dy[k], to_dx[k]);
            });
        }
    };
    load_row(first, x, dy, dx);
    for (int rows = first; rows < end; rows += groups) {
        const bool has_row = rows + me.group < end;
        const NormGradientRow<is_centred, T> row{of, has_row ? rows + me.group : rows};
        const int own_width = has_row ? width : 0;
        // Loads the next row while this one is computed, if registers suffice.
        constexpr bool loads_ahead = sizeof(T) == 2 && !is_wide;
        RawPack<T> next_x[packs_kept<is_wide>], next_dy[packs_kept<is_wide>], next_dx[packs_kept<is_wide>];
        if constexpr (loads_ahead) {
            load_row(rows + groups, next_x, next_dy, next_dx);
        }
        float sums[2] = {};  // see look()
        me.for_packs<is_wide>(
            own_width, [&](int k, int begin, int count) { row.look(begin, count, x[k], dy[k], sums); },
            [&](int begin, int count) {
                RawPack<T> wide_x, wide_dy, wide_dx;
                row.load(begin, count, wide_x, wide_dy, wide_dx);
                row.look(begin, count, wide_x, wide_dy, sums);
            });
        sum_over_group(sums, me, of_warps);
        const float mean_sum = is_centred ? sums[0] / float(width) : 0.0F;
        const float mean_projection = sums[1] / float(width);
        me.for_packs<is_wide>(
            own_width,
            [&](int k, int begin, int count) {
                row.add(begin, count, mean_sum, mean_projection, x[k], dy[k], dx[k], d_gain[k], d_bias[k]);
            },
            [&](int begin, int count) {
                RawPack<T> wide_x, wide_dy, wide_dx;
                float gain[pack] = {}, bias[pack] = {};
                row.load(begin, count, wide_x, wide_dy, wide_dx);
                if (rows > first) {
                    load_some(gain_sums + begin, count, false, gain);
                    if constexpr (is_centred) {
                        load_some(bias_sums + begin, count, false, bias);
                    }
                }
                row.add(begin, count, mean_sum, mean_projection, wide_x, wide_dy, wide_dx, gain, bias);
                store_some(gain_sums + begin, count, false, gain);
                if constexpr (is_centred) {
                    store_some(bias_sums + begin, count, false, bias);
                }
            });
        if constexpr (loads_ahead) {
#pragma unroll
            for (int k = 0; k < packs_kept<is_wide>; ++k) {
                x[k] = next_x[k];
                dy[k] = next_dy[k];
                dx[k] = next_dx[k];
            }
        } else {
            load_row(rows + groups, x, dy, dx);
        }
    }

    if (!of.keeps_sums) {
        return;
    }
    const auto keep = [&](float(&own)[pack], int k, float* sums) {
        if (groups > 1) {
            add_other_groups(own, groups, of_groups);
        }
        if (const auto begin = me.begin(k); me.group == 0 && begin < width) {
            store_some(sums + begin, width - begin < pack ? width - begin : pack, false, own);
        }
    };
#pragma unroll
    for (int k = 0; k < packs_kept<is_wide>; ++k) {
        keep(d_gain[k], k, gain_sums);
        if constexpr (is_centred) {
            keep(d_bias[k], k, bias_sums);
        }
    }
}

/// Returns the number of thread blocks of a pass.
///
/// It is the number that the registers of an H100 hold at once, but each group gets at least four rows,
/// because each block costs one more sum.
inline std::int64_t norm_gradient_blocks(std::int64_t rows, const NormGroups& by) {
    const int at_once = by.threads <= max_norm_threads / 2 ? 2 : 1;
    return std::clamp<std::int64_t>(rows / (4 * by.groups), 1,
                                    layout::CudaWorkspaces::multiprocessors * at_once);
}

/// Adds to dx, and stores or accumulates the gradients of gain and bias. Each of them may be empty.
///
/// \param mean  only for centred rows
template <bool is_centred, class T>
void norm_backward(const device::Stream& stream,
                   const char* name,
                   tensor::TensorRef<const T, 2> x,
                   tensor::TensorRef<const T, 2> dy,
                   tensor::TensorRef<const T, 1> gain,
                   tensor::TensorRef<const float, 1> mean,
                   tensor::TensorRef<const float, 1> inverse,
                   tensor::TensorRef<T, 2> dx,
                   tensor::TensorRef<float, 1> d_gain,
                   tensor::TensorRef<float, 1> d_bias,
                   Accumulate accumulate,
                   std::span<std::byte> workspace) {
    const auto rows = x.extent(0), width = x.extent(1);
    const NormGroups by{width};
    const auto blocks =
        std::min(norm_gradient_blocks(rows, by), layout::CudaWorkspaces::column_sum_blocks(width));
    const NormGradients<T> of{.is_aligned = are_rows_aligned(width, x.data, dy.data, gain.data, dx.data),
                              .x = x.data,
                              .dy = dy.data,
                              .gain = gain.data,
                              .mean = mean.data,
                              .inverse = inverse.data,
                              .dx = dx.data,
                              .sums = PartialSums{rows, width, blocks, workspace},
                              .keeps_sums = !d_gain.empty() || !d_bias.empty()};
    const auto kernel =
        by.is_wide ? add_norm_gradients<is_centred, true, T> : add_norm_gradients<is_centred, false, T>;
    launch_grid(stream, name, {blocks, by.block_threads()}, kernel, of, by.threads);
    if (of.keeps_sums) {
        finish(stream, of.sums, accumulate, d_gain, d_bias);
    }
}

}  // namespace ziggurat::kernels::cuda
