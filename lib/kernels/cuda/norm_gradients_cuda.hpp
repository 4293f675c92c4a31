/// Backward passes of norms, which move each row once; only *_cuda.cu files include it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/cuda/norm_rows_cuda.hpp"
#include "kernels/cuda/partial_sums_cuda.hpp"

namespace ziggurat::kernels::cuda {

/// What a backward pass reads and writes. A root-mean-square norm is a layer norm whose rows are not centred.
template <class T>
struct NormGradients {
    bool is_aligned;
    const T* x;
    const T* dy;
    const T* gain;
    const float* mean;     ///< of each row, where they are centred
    const float* inverse;  ///< of each row's standard deviation, or root mean square
    T* dx;                 ///< to which is added
    PartialSums sums;      ///< of the gain's gradient and, where rows are centred, the bias'
    bool keeps_sums;       ///< false: nobody asks for them
};

/// Threads of a block, at most: groups of a row each.
inline constexpr int most_gradient_threads = most_row_threads;
inline constexpr int most_gradient_warps = most_gradient_threads / warp_size;

/// A row of a backward pass, whose packs begin so many elements behind its beginning.
template <bool is_centred, class T>
class NormGradientRow {
  public:
    __device__ NormGradientRow(const NormGradients<T>& of, std::int64_t row)
        : of_{of},
          at_{row * of.sums.width},
          mean_{is_centred ? of.mean[row] : 0.0F},
          inverse_{of.inverse[row]} {}

    /// Adds what a pack does to the sum of dy * gain, and to that of its product with the normalized row.
    __device__ void look(int begin, int count, float (&sums)[2]) const {
        float x[pack], dy[pack], gain[pack];
        load(begin, count, x, dy, gain);
#pragma unroll
        for (int i = 0; i < pack; ++i) {
            const float scaled = dy[i] * gain[i];  // 0 behind the row's end
            sums[0] += scaled;
            sums[1] = std::fma(scaled, (x[i] - mean_) * inverse_, sums[1]);
        }
    }

    __device__ void load_dx(int begin, int count, float (&to)[pack]) const {
        load_some(of_.dx + at_ + begin, count, of_.is_aligned, to);
    }

    /// Adds to a pack of dx, which it stores, and to the sums of its columns.
    __device__ void add(int begin,
                        int count,
                        float mean_sum,
                        float mean_projection,
                        float (&dx)[pack],
                        float (&d_gain)[pack],
                        float (&d_bias)[pack]) const {
        float x[pack], dy[pack], gain[pack];
        load(begin, count, x, dy, gain);
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
    __device__ void load(
        int begin, int count, float (&x)[pack], float (&dy)[pack], float (&gain)[pack]) const {
        load_some(of_.x + at_ + begin, count, of_.is_aligned, x);
        load_some(of_.dy + at_ + begin, count, of_.is_aligned, dy);
        load_some(of_.gain + begin, count, of_.is_aligned, gain);
    }

    const NormGradients<T>& of_;
    std::int64_t at_;
    float mean_, inverse_;
};

/// Adds to what the first group of a block has in `own` what the other groups have, in order. All threads
/// must come here.
///
/// \param of_groups  __shared__ memory
__device__ inline void add_other_groups(float (&own)[pack],
                                        int groups,
                                        float (&of_groups)[most_gradient_threads * pack]) {
    const int threads = static_cast<int>(blockDim.x) / groups;
    const int thread = static_cast<int>(threadIdx.x);
    __syncthreads();  // what was there has been read
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

/// Packs of a thread whose sums have registers, at most.
inline constexpr int most_kept = 4;

/// Blocks of most_gradient_threads that a multiprocessor is to have at once: as many as registers allow.
inline constexpr int gradient_blocks(int kept) {
    return kept == 1 ? 3 : (kept == 2 ? 2 : 1);
}

/// A block of threads has a block of rows; each group of its threads takes every so manieth of them, adds to
/// dx, and keeps its columns' sums in registers: of the first `kept` packs of each thread. Those of further
/// ones, in rows wider than most_kept have room for, lie in the workspace from the beginning.
///
/// \param threads  of a group
/// \param groups   of a block; where there are several, each thread has one pack
template <bool is_centred, int kept, class T>
__global__ void __launch_bounds__(most_gradient_threads, gradient_blocks(kept))
    add_norm_gradients(NormGradients<T> of, int threads, int groups) {
    __shared__ float of_warps[2][most_gradient_warps];
    __shared__ float of_groups[most_gradient_threads * pack];
    const int width = static_cast<int>(of.sums.width);
    const int group = static_cast<int>(threadIdx.x) / threads;
    const int thread = static_cast<int>(threadIdx.x) - group * threads;
    const auto begin_of = [&](int k) { return (k * threads + thread) * pack; };
    const auto count_at = [&](int begin) { return width - begin < pack ? width - begin : pack; };
    const auto step = threads * pack;

    const std::int64_t block = blockIdx.x;
    float* const gain_sums = of.sums.of_block(block, 0);
    float* const bias_sums = of.sums.of_block(block, 1);
    float d_gain[kept][pack] = {};
    float d_bias[kept][pack] = {};
    const int first = static_cast<int>(of.sums.first_row(block));
    const int end = static_cast<int>(of.sums.first_row(block + 1));
    for (int rows = first; rows < end; rows += groups) {
        const bool has_row = rows + group < end;
        const NormGradientRow<is_centred, T> row{of, has_row ? rows + group : rows};
        float sums[2] = {};  // as look() has them
        float dx[kept][pack];
        if (has_row) {
#pragma unroll
            for (int k = 0; k < kept; ++k) {
                if (const auto begin = begin_of(k); begin < width) {
                    row.load_dx(begin, count_at(begin), dx[k]);
                    row.look(begin, count_at(begin), sums);
                }
            }
            for (auto begin = begin_of(kept); kept == most_kept && begin < width; begin += step) {
                row.look(begin, count_at(begin), sums);
            }
        }
        sum_over_warps(sums, group * threads / warp_size, threads / warp_size, of_warps);
        const float mean_sum = is_centred ? sums[0] / float(width) : 0.0F;
        const float mean_projection = sums[1] / float(width);
        if (!has_row) {
            continue;
        }
#pragma unroll
        for (int k = 0; k < kept; ++k) {
            if (const auto begin = begin_of(k); begin < width) {
                row.add(begin, count_at(begin), mean_sum, mean_projection, dx[k], d_gain[k], d_bias[k]);
            }
        }
        for (auto begin = begin_of(kept); kept == most_kept && begin < width; begin += step) {
            const int count = count_at(begin);
            float further[pack], gain[pack] = {}, bias[pack] = {};
            row.load_dx(begin, count, further);
            if (rows > first) {
                load_some(gain_sums + begin, count, false, gain);
                if constexpr (is_centred) {
                    load_some(bias_sums + begin, count, false, bias);
                }
            }
            row.add(begin, count, mean_sum, mean_projection, further, gain, bias);
            store_some(gain_sums + begin, count, false, gain);
            if constexpr (is_centred) {
                store_some(bias_sums + begin, count, false, bias);
            }
        }
    }

    if (!of.keeps_sums) {
        return;
    }
    const auto keep = [&](float(&own)[pack], int k, float* sums) {
        if (kept == 1 && groups > 1) {
            add_other_groups(own, groups, of_groups);
        }
        if (const auto begin = begin_of(k); group == 0 && begin < width) {
            store_some(sums + begin, count_at(begin), false, own);
        }
    };
#pragma unroll
    for (int k = 0; k < kept; ++k) {
        keep(d_gain[k], k, gain_sums);
        if constexpr (is_centred) {
            keep(d_bias[k], k, bias_sums);
        }
    }
}

/// How rows of a width are given to threads.
struct GradientGrid {
    int threads;  ///< of a row
    int groups;   ///< rows that a block is at
    int kept;     ///< packs of a thread whose sums have registers
    std::int64_t blocks;

    GradientGrid(std::int64_t rows, std::int64_t width)
        : threads{threads_of_row(width)},
          groups{most_gradient_threads / threads},
          kept{width <= most_row_threads * pack ? 1
                                                : (width <= 2 * most_row_threads * pack ? 2 : most_kept)} {
        // As many blocks as an H100's multiprocessors have at once; each group with four rows at least,
        // for each block costs a sum.
        const auto at_once = gradient_blocks(kept) * most_gradient_threads / (threads * groups);
        blocks = std::clamp<std::int64_t>(rows / (4 * groups), 1,
                                          layout::CudaWorkspaces::multiprocessors * at_once);
    }
};

/// Adds to dx, and makes or adds to the gradients of gain and bias, of which any may be empty.
///
/// \param mean  of rows that are centred
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
    const GradientGrid grid{rows, width};
    const NormGradients<T> of{.is_aligned = are_rows_aligned(width, x.data, dy.data, gain.data, dx.data),
                              .x = x.data,
                              .dy = dy.data,
                              .gain = gain.data,
                              .mean = mean.data,
                              .inverse = inverse.data,
                              .dx = dx.data,
                              .sums = PartialSums{rows, width, grid.blocks, workspace},
                              .keeps_sums = !d_gain.empty() || !d_bias.empty()};
    const auto kernel = grid.kept == 1   ? add_norm_gradients<is_centred, 1, T>
                        : grid.kept == 2 ? add_norm_gradients<is_centred, 2, T>
                                         : add_norm_gradients<is_centred, most_kept, T>;
    launch_grid(stream, name, {grid.blocks, grid.threads * grid.groups}, kernel, of, grid.threads,
                grid.groups);
    if (of.keeps_sums) {
        finish(stream, of.sums, accumulate, d_gain, d_bias);
    }
}

}  // namespace ziggurat::kernels::cuda
