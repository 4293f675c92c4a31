/// Backward passes of norms, which read and write each row once; only *_cuda.cu files include it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/cuda/norm/norm_rows_cuda.hpp"
#include "kernels/cuda/partial_sums_cuda.hpp"

namespace ziggurat::kernels::cuda {

/// Arguments of a backward pass. An RMS norm is a layer norm whose rows are not centred.
template <class T>
struct NormGradients {
    bool is_aligned;  ///< as in are_rows_aligned()
    const T* x;
    const T* dy;
    const T* gain;
    float gain_offset;     ///< added to each gain, if rows are not centred
    const float* mean;     ///< mean of each row, if rows are centred
    const float* inverse;  ///< inverse of each row's standard deviation, or root mean square
    T* dx;
    Accumulate add_to_dx;
    PartialSums sums;  ///< of the gradients of the gain and, if rows are centred, the bias
    bool keeps_sums;   ///< false: the sums are not requested
};

/// One row of a backward pass.
///
/// \tparam is_plain  rows are aligned
template <bool is_centred, bool is_plain, class T>
class NormGradientRow {
  public:
    /// Mean and inverse of a row. They are loaded ahead, like its packs.
    struct Statistics {
        float mean = 0, inverse = 0;
    };
    __device__ static Statistics statistics(const NormGradients<T>& of, std::int64_t row) {
        return {is_centred ? of.mean[row] : 0.0F, of.inverse[row]};
    }

    __device__ NormGradientRow(const NormGradients<T>& of, std::int64_t row, const Statistics& statistics)
        : of_{of}, at_{row * of.sums.width}, mean_{statistics.mean}, inverse_{statistics.inverse} {}

    __device__ static RawPack<T> load_gain(const NormGradients<T>& of, int begin, int count) {
        return load_raw(of.gain + begin, count, is_plain || of.is_aligned);
    }
    __device__ void load(int begin, int count, RawPack<T>& x, RawPack<T>& dy, RawPack<T>& dx) const {
        x = load_raw(of_.x + at_ + begin, count, is_aligned());
        dy = load_raw(of_.dy + at_ + begin, count, is_aligned());
        dx = of_.add_to_dx == Accumulate::yes
                 ? load_raw(static_cast<const T*>(of_.dx) + at_ + begin, count, is_aligned())
                 : RawPack<T>{};
    }

    /// Adds a pack to the sum of dy * gain, and to the sum of its product with the normalized row.
    __device__ void look(const RawPack<T>& raw_x,
                         const RawPack<T>& raw_dy,
                         const RawPack<T>& raw_gain,
                         float (&sums)[2]) const {
        float x[pack], dy[pack], gain[pack];
        raw_x.to_floats(x);
        raw_dy.to_floats(dy);
        raw_gain.to_floats(gain);
#pragma unroll
        for (int i = 0; i < pack; ++i) {
            const float scaled = dy[i] * with_offset(gain[i]);  // 0 after the row's end
            sums[0] += scaled;
            sums[1] = std::fma(scaled, (x[i] - mean_) * inverse_, sums[1]);
        }
    }

    /// Adds a pack's gradient to dx, or to zero, stores it, and adds to the sums of its columns.
    __device__ void add(int begin,
                        int count,
                        float mean_sum,
                        float mean_projection,
                        const RawPack<T>& raw_x,
                        const RawPack<T>& raw_dy,
                        const RawPack<T>& raw_dx,
                        const RawPack<T>& raw_gain,
                        float (&d_gain)[pack],
                        float (&d_bias)[pack]) const {
        float x[pack], dy[pack], dx[pack], gain[pack];
        raw_x.to_floats(x);
        raw_dy.to_floats(dy);
        raw_dx.to_floats(dx);
        raw_gain.to_floats(gain);
#pragma unroll
        for (int i = 0; i < pack; ++i) {
            const float normalized = (x[i] - mean_) * inverse_;
            const float centred =
                dy[i] * with_offset(gain[i]) - mean_sum;  // rounded as above: 0 for equal terms
            dx[i] = std::fma(inverse_, std::fma(-normalized, mean_projection, centred), dx[i]);
            d_gain[i] = std::fma(dy[i], normalized, d_gain[i]);
            d_bias[i] += dy[i];
        }
        store_some(of_.dx + at_ + begin, count, is_aligned(), dx);
    }

  private:
    __device__ float with_offset(float gain) const {
        return is_centred ? gain : of_.gain_offset + gain;
    }
    __device__ bool is_aligned() const {
        return is_plain || of_.is_aligned;
    }

    const NormGradients<T>& of_;
    std::int64_t at_;
    float mean_, inverse_;
};

/// Adds the sums of all other groups of a block to the first group's `own`, in order.
///
/// All threads of the block must call it.
///
/// \param of_groups  __shared__ memory
template <int size>
__device__ inline void add_other_groups(float (&own)[pack], int groups, float (&of_groups)[size]) {
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

/// Lengths of rows with kernels of their own.
enum class NormRowLength {
    up_to_3072,  ///< aligned: one pack for each thread, so that many threads have loads in flight
    up_to_4096,  ///< the same with larger blocks
    up_to_8192,  ///< or not aligned
    wide,        ///< see NormGroups
};

/// Registers and threads of a backward pass.
template <bool is_centred, NormRowLength length>
struct NormGradientShape {
    static constexpr bool is_plain =
        length == NormRowLength::up_to_3072 || length == NormRowLength::up_to_4096;
    static constexpr bool is_wide = length == NormRowLength::wide;
    /// Packs of a row in the registers of a thread.
    static constexpr int packs = is_plain ? 1 : is_wide ? kept_wide_packs : kept_packs;
    /// Maximum number of threads of a block.
    static constexpr int max_threads = length == NormRowLength::up_to_3072   ? 384
                                       : length == NormRowLength::up_to_4096 ? 512
                                                                             : max_norm_threads;
    /// Minimum number of blocks of a multiprocessor at once.
    static constexpr int blocks = is_plain && max_threads * (is_centred ? 2 : 1) <= 768 ? 2 : 1;
};

/// One thread block computes one block of rows.
///
/// Each group of its threads processes every n-th row, adds to or writes dx, and sums its columns in
/// registers. For wide rows, the sums of further packs are in the workspace.
template <bool is_centred, NormRowLength length, class T>
__global__ void __launch_bounds__(NormGradientShape<is_centred, length>::max_threads,
                                  NormGradientShape<is_centred, length>::blocks)
    add_norm_gradients(NormGradients<T> of, int threads) {
    using Shape = NormGradientShape<is_centred, length>;
    constexpr int packs = Shape::packs;
    constexpr bool is_wide = Shape::is_wide;
    using Row = NormGradientRow<is_centred, Shape::is_plain, T>;
    __shared__ float of_warps[2][2][Shape::max_threads / warp_size];  // in turns
    __shared__ float of_groups[Shape::max_threads * pack];
    const NormThread me{threads};
    const int groups = static_cast<int>(blockDim.x) / threads;
    const int width = static_cast<int>(of.sums.width);

    const std::int64_t block = blockIdx.x;
    float* const gain_sums = of.sums.of_block(block, 0);
    float* const bias_sums = of.sums.of_block(block, 1);
    float d_gain[packs][pack] = {};
    float d_bias[packs][pack] = {};
    const int first = static_cast<int>(of.sums.first_row(block));
    const int end = static_cast<int>(of.sums.first_row(block + 1));
    RawPack<T> x[packs], dy[packs], dx[packs];
    typename Row::Statistics statistics, next_statistics;
    const auto load_row = [&](int rows, typename Row::Statistics& to_statistics, RawPack<T>(&to_x)[packs],
                              RawPack<T>(&to_dy)[packs], RawPack<T>(&to_dx)[packs]) {
        if (rows + me.group < end) {
            to_statistics = Row::statistics(of, rows + me.group);
            const Row row{of, rows + me.group, to_statistics};
            me.for_kept<packs>(width, [&](int k, int begin, int count) {
                row.load(begin, count, to_x[k], to_dy[k], to_dx[k]);
            });
        }
    };
    load_row(first, statistics, x, dy, dx);
    // One pack of the gain stays in registers. Several are read again from the first cache.
    RawPack<T> only_gain{};
    if constexpr (packs == 1) {
        me.for_kept<1>(width,
                       [&](int, int begin, int count) { only_gain = Row::load_gain(of, begin, count); });
    }
    const auto gain_at = [&](int begin, int count) {
        if constexpr (packs == 1) {
            return only_gain;
        } else {
            return Row::load_gain(of, begin, count);
        }
    };
    int turn = 0;
    for (int rows = first; rows < end; rows += groups) {
        const bool has_row = rows + me.group < end;
        const Row row{of, has_row ? rows + me.group : rows, statistics};
        const int own_width = has_row ? width : 0;
        // Loads the next row while this one is computed, if registers suffice.
        constexpr bool loads_ahead = sizeof(T) == 2 && !is_wide;
        RawPack<T> next_x[packs], next_dy[packs], next_dx[packs];
        if constexpr (loads_ahead) {
            load_row(rows + groups, next_statistics, next_x, next_dy, next_dx);
        }
        float sums[2] = {};  // see look()
        me.for_packs<packs, is_wide>(
            own_width,
            [&](int k, int begin, int count) { row.look(x[k], dy[k], gain_at(begin, count), sums); },
            [&](int begin, int count) {
                RawPack<T> wide_x, wide_dy, wide_dx;
                row.load(begin, count, wide_x, wide_dy, wide_dx);
                row.look(wide_x, wide_dy, gain_at(begin, count), sums);
            });
        sum_over_group_once(sums, me, of_warps[turn]);
        turn = 1 - turn;
        const float mean_sum = is_centred ? sums[0] / float(width) : 0.0F;
        const float mean_projection = sums[1] / float(width);
        me.for_packs<packs, is_wide>(
            own_width,
            [&](int k, int begin, int count) {
                row.add(begin, count, mean_sum, mean_projection, x[k], dy[k], dx[k], gain_at(begin, count),
                        d_gain[k], d_bias[k]);
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
                row.add(begin, count, mean_sum, mean_projection, wide_x, wide_dy, wide_dx,
                        gain_at(begin, count), gain, bias);
                store_some(gain_sums + begin, count, false, gain);
                if constexpr (is_centred) {
                    store_some(bias_sums + begin, count, false, bias);
                }
            });
        if constexpr (loads_ahead) {
            statistics = next_statistics;
#pragma unroll
            for (int k = 0; k < packs; ++k) {
                x[k] = next_x[k];
                dy[k] = next_dy[k];
                dx[k] = next_dx[k];
            }
        } else {
            load_row(rows + groups, statistics, x, dy, dx);
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
    for (int k = 0; k < packs; ++k) {
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
inline std::int64_t norm_gradient_blocks(std::int64_t rows, const NormGroups& by, int at_once) {
    return std::clamp<std::int64_t>(rows / (4 * by.groups), 1,
                                    layout::CudaWorkspaces::multiprocessors * at_once);
}

/// Adds to or writes dx, and stores or accumulates the gradients of gain and bias.
///
/// Each of these two may be empty.
///
/// \param mean  only for centred rows
template <bool is_centred, class T>
void norm_backward(const device::Stream& stream,
                   const char* name,
                   tensor::TensorRef<const T, 2> x,
                   tensor::TensorRef<const T, 2> dy,
                   tensor::TensorRef<const T, 1> gain,
                   float gain_offset,
                   tensor::TensorRef<const float, 1> mean,
                   tensor::TensorRef<const float, 1> inverse,
                   tensor::TensorRef<T, 2> dx,
                   Accumulate add_to_dx,
                   tensor::TensorRef<float, 1> d_gain,
                   tensor::TensorRef<float, 1> d_bias,
                   Accumulate accumulate,
                   std::span<std::byte> workspace) {
    const auto rows = x.extent(0), width = x.extent(1);
    const bool is_aligned = are_rows_aligned(width, x.data, dy.data, gain.data, dx.data);
    using Length = NormRowLength;
    constexpr int short_threads = NormGradientShape<is_centred, Length::up_to_3072>::max_threads;
    using Middle = NormGradientShape<is_centred, Length::up_to_4096>;
    const NormGroups with_one_pack{width, 1, Middle::max_threads, short_threads};
    const bool is_plain = is_aligned && !with_one_pack.is_wide;
    const NormGroups by = is_plain ? with_one_pack : NormGroups{width};
    const auto length = !is_plain ? (by.is_wide ? Length::wide : Length::up_to_8192)
                        : by.block_threads() <= short_threads ? Length::up_to_3072
                                                              : Length::up_to_4096;
    const int at_once = length == Length::up_to_3072         ? 2 * short_threads / by.block_threads()
                        : length == Length::up_to_4096       ? Middle::blocks
                        : by.threads <= max_norm_threads / 2 ? 2
                                                             : 1;
    const auto blocks =
        std::min(norm_gradient_blocks(rows, by, at_once), layout::CudaWorkspaces::column_sum_blocks(width));
    const NormGradients<T> of{.is_aligned = is_aligned,
                              .x = x.data,
                              .dy = dy.data,
                              .gain = gain.data,
                              .gain_offset = gain_offset,
                              .mean = mean.data,
                              .inverse = inverse.data,
                              .dx = dx.data,
                              .add_to_dx = add_to_dx,
                              .sums = PartialSums{rows, width, blocks, workspace},
                              .keeps_sums = !d_gain.empty() || !d_bias.empty()};
    const auto kernel = length == Length::up_to_3072   ? add_norm_gradients<is_centred, Length::up_to_3072, T>
                        : length == Length::up_to_4096 ? add_norm_gradients<is_centred, Length::up_to_4096, T>
                        : length == Length::up_to_8192 ? add_norm_gradients<is_centred, Length::up_to_8192, T>
                                                       : add_norm_gradients<is_centred, Length::wide, T>;
    launch_grid(stream, name, {blocks, by.block_threads()}, kernel, of, by.threads);
    if (of.keeps_sums) {
        finish(stream, of.sums, accumulate, d_gain, d_bias);
    }
}

}  // namespace ziggurat::kernels::cuda
