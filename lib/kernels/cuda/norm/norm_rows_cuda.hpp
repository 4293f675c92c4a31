/// Forward passes of norms, which read and write each row once; only *_cuda.cu files include it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "kernels/cuda/dropout_cuda.hpp"
#include "kernels/cuda/row_packs_cuda.hpp"
#include "kernels/cuda/rows_cuda.hpp"

namespace ziggurat::kernels::cuda {

/// Packs of a row that a thread holds in registers.
///
/// Wide rows have fewer, because their other packs need registers too.
inline constexpr int kept_packs = 4, kept_wide_packs = 2;
inline constexpr int max_norm_threads = 256;
inline constexpr int max_norm_warps = max_norm_threads / warp_size;

/// Assignment of rows to threads: each row is computed by a group of whole warps.
struct NormGroups {
    int threads;   ///< of a group
    int groups;    ///< of a block
    bool is_wide;  ///< the row has more packs than the registers of its group

    /// \param packs          packs of a row in the registers of a thread
    /// \param max_threads    of a group
    /// \param usual_threads  of a block with groups of few threads
    explicit NormGroups(std::int64_t width,
                        int packs = kept_packs,
                        int max_threads = max_norm_threads,
                        int usual_threads = 128) {
        const auto of_warp = static_cast<std::int64_t>(packs) * warp_size;
        const auto warps = (packs_of(width) + of_warp - 1) / of_warp;
        const auto max_warps = max_threads / warp_size;
        threads = static_cast<int>(std::min<std::int64_t>(warps, max_warps)) * warp_size;
        groups = std::max(1, usual_threads / threads);
        is_wide = warps > max_warps;
    }
    int block_threads() const { return threads * groups; }
};

/// This thread's position in its group.
struct NormThread {
    int threads;
    int group = static_cast<int>(threadIdx.x) / threads;
    int thread = static_cast<int>(threadIdx.x) - group * threads;

    __device__ explicit NormThread(int threads_of_group) : threads{threads_of_group} {}

    /// Returns the first column of its pack number `k`.
    __device__ int begin(int k) const { return (k * threads + thread) * pack; }

    /// Calls body(k, begin, count) for the packs in registers.
    template <int packs, class Body>
    __device__ void for_kept(int width, const Body& body) const {
#pragma unroll
        for (int k = 0; k < packs; ++k) {
            if (const int first = begin(k); first < width) {
                body(k, first, width - first < pack ? width - first : pack);
            }
        }
    }
    /// Does the same, then calls wide(begin, count) for the packs after them.
    template <int packs, bool is_wide, class Body, class Wide>
    __device__ void for_packs(int width, const Body& body, const Wide& wide) const {
        for_kept<packs>(width, body);
        if constexpr (is_wide) {
            for (int first = begin(packs); first < width; first += threads * pack) {
                wide(first, width - first < pack ? width - first : pack);
            }
        }
    }
};

/// Sums as sum_over_group does, with one barrier instead of two.
///
/// \param of_warps  __shared__ memory; the next call must have other memory
template <int count, int max_warps>
__device__ inline void sum_over_group_once(float (&values)[count],
                                           const NormThread& me,
                                           float (&of_warps)[count][max_warps]) {
    if (me.threads == warp_size) {
#pragma unroll
        for (int i = 0; i < count; ++i) {
            values[i] = warp_sum(values[i]);
        }
        return;
    }
    sum_over_warps_once(values, me.group * me.threads / warp_size, me.threads / warp_size, of_warps);
}

/// Sums each of some values over the threads of a group, with the same bits in all of them.
///
/// All threads of the block must call it.
///
/// \param of_warps  __shared__ memory; reusable when the function returns
template <int count, int max_warps>
__device__ inline void sum_over_group(float (&values)[count],
                                      const NormThread& me,
                                      float (&of_warps)[count][max_warps]) {
    sum_over_group_once(values, me, of_warps);
    if (me.threads > warp_size) {
        __syncthreads();
    }
}

/// Arguments of a forward pass. An RMS norm is a layer norm whose rows are not centred.
template <class T>
struct NormRows {
    std::int64_t rows;
    int width;
    bool is_aligned;
    float epsilon;
    const T* x;
    const T* branch = nullptr;  ///< added to x; nullptr: no branch
    DropoutView dropout = {};
    const T* gain;
    float gain_offset = 0;    ///< added to each gain
    const T* bias = nullptr;  ///< only for centred rows
    T* x_out = nullptr;       ///< x + dropout(branch)
    T* y;
    float* mean = nullptr;  ///< mean of each row, if rows are centred
    float* inverse;         ///< inverse of each row's standard deviation, or root mean square
};

/// One group of threads for each row.
///
/// All loads of the packs in registers come before the first store: for the compiler, a store to x_out might
/// change x.
///
/// \tparam is_plain  rows are aligned, and there is no dropout
template <bool is_centred, bool is_wide, bool is_plain, class T>
__global__ void __launch_bounds__(max_norm_threads) normalize_rows(NormRows<T> of, int threads) {
    constexpr int packs = is_wide ? kept_wide_packs : kept_packs;
    const bool is_aligned = is_plain || of.is_aligned;
    __shared__ float of_warps[1][max_norm_warps];
    const NormThread me{threads};
    const auto row =
        static_cast<std::int64_t>(blockIdx.x) * (static_cast<int>(blockDim.x) / threads) + me.group;
    const int width = row < of.rows ? of.width : 0;  // threads without a row only take part in the sums
    const auto at = row * of.width;
    const DropoutPacks<> dropped{of.dropout};
    const auto element_position = dropped.element_position(row < of.rows ? row : 0);

    RawPack<T> raw_x[packs], raw_branch[packs];
    const auto load = [&](int begin, int count, RawPack<T>& to_x, RawPack<T>& to_branch) {
        to_x = load_raw(of.x + at + begin, count, is_aligned);
        if (of.branch != nullptr) {
            to_branch = load_raw(of.branch + at + begin, count, is_aligned);
        }
    };
    me.for_kept<packs>(width,
                       [&](int k, int begin, int count) { load(begin, count, raw_x[k], raw_branch[k]); });

    float x[packs][pack] = {};
    const auto add_branch = [&](int begin, int count, const RawPack<T>& from_x, const RawPack<T>& from_branch,
                                float(&to)[pack]) {
        from_x.to_floats(to);
        if (of.branch == nullptr) {
            return;
        }
        float branch[pack];
        from_branch.to_floats(branch);
        const bool drops = !is_plain && dropped.drops();
        const float scale = dropped.scale();  // with 1, the fused sum has the bits of a plain one
        float factor[pack];
        if (drops) {
            dropped.factors(element_position, begin, factor);
        }
#pragma unroll
        for (int i = 0; i < pack; ++i) {
            T sum;
            tensor::store(sum, std::fma(branch[i], drops ? factor[i] : scale, to[i]));
            to[i] = float(sum);
        }
        store_some(of.x_out + at + begin, count, is_aligned, to);
    };
    const T* const added = of.branch == nullptr ? of.x : of.x_out;
    const auto load_again = [&](int begin, int count, float(&to)[pack]) {
        load_some(added + at + begin, count, is_aligned, to);
    };

    float sums[1] = {};
    const auto add = [&](const float(&values)[pack]) {
#pragma unroll
        for (int i = 0; i < pack; ++i) {
            sums[0] = is_centred ? sums[0] + values[i] : std::fma(values[i], values[i], sums[0]);
        }
    };
    me.for_packs<packs, is_wide>(
        width,
        [&](int k, int begin, int count) {
            add_branch(begin, count, raw_x[k], raw_branch[k], x[k]);
            add(x[k]);
        },
        [&](int begin, int count) {
            RawPack<T> further_x, further_branch;
            float further[pack];
            load(begin, count, further_x, further_branch);
            add_branch(begin, count, further_x, further_branch, further);
            add(further);
        });
    sum_over_group(sums, me, of_warps);
    float mean = 0;
    if constexpr (is_centred) {
        mean = sums[0] / float(of.width);
        sums[0] = 0;
        const auto add_squares = [&](int count, const float(&values)[pack]) {
#pragma unroll
            for (int i = 0; i < pack; ++i) {
                const float difference = i < count ? values[i] - mean : 0.0F;
                sums[0] = std::fma(difference, difference, sums[0]);
            }
        };
        me.for_packs<packs, is_wide>(
            width, [&](int k, int, int count) { add_squares(count, x[k]); },
            [&](int begin, int count) {
                float further[pack];
                load_again(begin, count, further);
                add_squares(count, further);
            });
        sum_over_group(sums, me, of_warps);
    }
    const float inverse = 1.0F / std::sqrt(sums[0] / float(of.width) + of.epsilon);
    const auto normalize = [&](int begin, int count, float(&values)[pack]) {
        float gain[pack], bias[pack] = {};
        load_some(of.gain + begin, count, is_aligned, gain);
        if constexpr (is_centred) {
            load_some(of.bias + begin, count, is_aligned, bias);
        }
#pragma unroll
        for (int i = 0; i < pack; ++i) {
            values[i] = is_centred ? std::fma((values[i] - mean) * inverse, gain[i], bias[i])
                                   : values[i] * inverse * (of.gain_offset + gain[i]);
        }
        store_some(of.y + at + begin, count, is_aligned, values);
    };
    me.for_packs<packs, is_wide>(
        width, [&](int k, int begin, int count) { normalize(begin, count, x[k]); },
        [&](int begin, int count) {
            float further[pack];
            load_again(begin, count, further);
            normalize(begin, count, further);
        });
    if (me.thread == 0 && row < of.rows) {
        if constexpr (is_centred) {
            of.mean[row] = mean;
        }
        of.inverse[row] = inverse;
    }
}

template <bool is_centred, class T>
void norm_forward(const device::Stream& stream, const char* name, const NormRows<T>& of) {
    const NormGroups by{of.width};
    const bool is_plain = of.is_aligned && of.dropout.probability == 0;
    const auto kernel = by.is_wide ? normalize_rows<is_centred, true, false, T>
                        : is_plain ? normalize_rows<is_centred, false, true, T>
                                   : normalize_rows<is_centred, false, false, T>;
    launch_grid(stream, name, {(of.rows + by.groups - 1) / by.groups, by.block_threads()}, kernel, of,
                by.threads);
}

}  // namespace ziggurat::kernels::cuda
