#include "kernels/norm/split_norm.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/cuda/launch_cuda.hpp"
#include "kernels/cuda/norm/norm_rows_cuda.hpp"
#include "kernels/cuda/partial_sums_cuda.hpp"
#include "kernels/cuda/row_packs_cuda.hpp"

namespace ziggurat::kernels::cuda {
namespace {

using tensor::TensorRef;

/// Largest block of a backward pass, and the packs of a row that each of its threads has.
constexpr int max_part_threads = 512;
constexpr int part_packs = 2;
constexpr int max_part_span = max_part_threads * part_packs * pack;

/// Parts of rows. A row has one sum (of squares) or two (of elements, then of squares).
struct PartRows {
    std::int64_t rows;
    int width;     ///< of a part
    float whole;   ///< elements of a row on all ranks
    int num_sums;  ///< 1: the mean is 0
    bool is_aligned;
    float epsilon;
    float gain_offset;

    __device__ bool has_mean() const { return num_sums == 2; }
    /// Returns the number of columns of a pack before `end`.
    __device__ static int count(int begin, int end) {
        return begin >= end ? 0 : end - begin < pack ? end - begin : pack;
    }
};

/// Mean and reciprocal of the standard deviation of a row.
struct PartStatistics {
    float mean, inverse;

    __device__ PartStatistics(const PartRows& of, const float* sums, std::int64_t row) {
        const float* const own = sums + row * of.num_sums;
        mean = of.has_mean() ? own[0] / of.whole : 0.0F;
        const float variance = std::fma(-mean, mean, own[of.num_sums - 1] / of.whole);
        inverse = 1.0F / std::sqrt(fmaxf(variance, 0.0F) + of.epsilon);
    }
};

template <class... T>
PartRows part_rows(
    std::int64_t rows, std::int64_t width, const SplitNorm& norm, std::int64_t num_sums, const T*... data) {
    return {.rows = rows,
            .width = static_cast<int>(width),
            .whole = static_cast<float>(norm.width),
            .num_sums = static_cast<int>(num_sums),
            .is_aligned = are_rows_aligned(width, data...),
            .epsilon = norm.epsilon,
            .gain_offset = norm.gain_offset};
}

/// One group of threads for each row.
template <class T>
__global__ void __launch_bounds__(max_norm_threads)
    sum_parts(PartRows of, int threads, const T* x, float* sums) {
    __shared__ float of_warps[2][max_norm_warps];
    const NormThread me{threads};
    const auto row =
        static_cast<std::int64_t>(blockIdx.x) * (static_cast<int>(blockDim.x) / threads) + me.group;
    const int width = row < of.rows ? of.width : 0;  // threads without a row only take part in the sums
    float totals[2] = {};
#pragma unroll 4
    for (int begin = me.begin(0); begin < width; begin += threads * pack) {
        float values[pack];
        load_some(x + row * of.width + begin, of.count(begin, width), of.is_aligned, values);
#pragma unroll
        for (int i = 0; i < pack; ++i) {
            totals[0] += values[i];
            totals[1] = std::fma(values[i], values[i], totals[1]);
        }
    }
    sum_over_group_once(totals, me, of_warps);
    if (me.thread == 0 && row < of.rows) {
        float* const to = sums + row * of.num_sums;
        to[0] = of.has_mean() ? totals[0] : totals[1];
        if (of.has_mean()) {
            to[1] = totals[1];
        }
    }
}

/// One thread for each pack.
template <class T>
__global__ void __launch_bounds__(256)
    add_through_part_sums(PartRows of, const T* x, const float* d_sums, T* dx) {
    const auto part = row_pack(of.width);
    if (part.row >= of.rows) {
        return;
    }
    const auto at = part.row * of.width + part.begin;
    const float* const own = d_sums + part.row * of.num_sums;
    const float of_sum = of.has_mean() ? own[0] : 0.0F;
    const float of_squares = 2 * own[of.num_sums - 1];
    float values[pack], gradient[pack];
    load_some(x + at, part.count, of.is_aligned, values);
    load_some(static_cast<const T*>(dx) + at, part.count, of.is_aligned, gradient);
#pragma unroll
    for (int i = 0; i < pack; ++i) {
        gradient[i] += std::fma(values[i], of_squares, of_sum);
    }
    store_some(dx + at, part.count, of.is_aligned, gradient);
}

/// One thread for each pack.
template <class T>
__global__ void __launch_bounds__(256)
    normalize_parts(PartRows of, const T* x, const float* sums, const T* gain, const T* bias, T* y) {
    const auto part = row_pack(of.width);
    if (part.row >= of.rows) {
        return;
    }
    const auto at = part.row * of.width + part.begin;
    const PartStatistics statistics{of, sums, part.row};
    float values[pack], own_gain[pack], own_bias[pack] = {};
    load_some(x + at, part.count, of.is_aligned, values);
    load_some(gain + part.begin, part.count, of.is_aligned, own_gain);
    if (bias != nullptr) {
        load_some(bias + part.begin, part.count, of.is_aligned, own_bias);
    }
#pragma unroll
    for (int i = 0; i < pack; ++i) {
        values[i] = std::fma((values[i] - statistics.mean) * statistics.inverse, own_gain[i] + of.gain_offset,
                             own_bias[i]);
    }
    store_some(y + at, part.count, of.is_aligned, values);
}

/// Columns [begin, end) of a part, which one launch computes.
struct PartSpan {
    int begin, end;
};

/// Operands of a backward pass.
template <class T>
struct PartGradients {
    const T* x;
    const T* dy;
    const float* sums;
    const T* gain;
    T* dx;
    Accumulate add_to_dx;
    float* d_sums;  ///< nullptr: not requested
    bool keeps_sums;
};

/// A block computes the rows between two borders and sums their columns in registers.
template <class T>
__global__ void __launch_bounds__(max_part_threads)
    part_gradients(PartRows of, PartSpan span, PartGradients<T> with, PartialSums partial) {
    __shared__ float of_warps[2][2][max_part_threads / warp_size];  // in turns
    const int threads = static_cast<int>(blockDim.x);
    const auto begin_of = [&](int k) {
        return span.begin + (k * threads + static_cast<int>(threadIdx.x)) * pack;
    };
    float d_gain[part_packs][pack] = {}, d_bias[part_packs][pack] = {};
    const auto end = partial.first_row(blockIdx.x + 1);
    int turn = 0;
    for (auto row = partial.first_row(blockIdx.x); row < end; ++row) {
        const PartStatistics statistics{of, with.sums, row};
        float totals[2] = {};  // of dy * gain, and of its product with the centred row
#pragma unroll
        for (int k = 0; k < part_packs; ++k) {
            const int begin = begin_of(k);
            const int count = of.count(begin, span.end);
            if (count == 0) {
                continue;
            }
            const auto at = row * of.width + begin;
            float values[pack], dy[pack], own_gain[pack], dx[pack] = {};
            load_some(with.x + at, count, of.is_aligned, values);
            load_some(with.dy + at, count, of.is_aligned, dy);
            load_some(with.gain + begin, count, of.is_aligned, own_gain);
            if (with.add_to_dx == Accumulate::yes) {
                load_some(static_cast<const T*>(with.dx) + at, count, of.is_aligned, dx);
            }
#pragma unroll
            for (int i = 0; i < pack; ++i) {
                const float centred = values[i] - statistics.mean;
                const float scaled = dy[i] * (own_gain[i] + of.gain_offset);  // 0 after the part's end
                d_bias[k][i] += dy[i];
                d_gain[k][i] = std::fma(dy[i], centred * statistics.inverse, d_gain[k][i]);
                totals[0] += scaled;
                totals[1] = std::fma(scaled, centred, totals[1]);
                dx[i] = std::fma(statistics.inverse, scaled, dx[i]);
            }
            store_some(with.dx + at, count, of.is_aligned, dx);
        }
        if (with.d_sums == nullptr) {
            continue;
        }
        sum_over_warps_once(totals, 0, threads / warp_size, of_warps[turn]);
        turn = 1 - turn;
        if (threadIdx.x == 0) {
            const float inverse = statistics.inverse;
            float* const to = with.d_sums + row * of.num_sums;
            const float of_squares = -0.5F * inverse * inverse * inverse * totals[1] / of.whole;
            const bool adds = span.begin > 0;  // to those of earlier columns
            if (of.has_mean()) {
                const float of_sum = -inverse * totals[0] / of.whole - 2 * statistics.mean * of_squares;
                to[0] = adds ? to[0] + of_sum : of_sum;
            }
            float& last = to[of.num_sums - 1];
            last = adds ? last + of_squares : of_squares;
        }
    }
    if (!with.keeps_sums) {
        return;
    }
#pragma unroll
    for (int k = 0; k < part_packs; ++k) {
        if (const int count = of.count(begin_of(k), span.end); count > 0) {
            store_some(partial.of_block(blockIdx.x, 0) + begin_of(k), count, false, d_gain[k]);
            store_some(partial.of_block(blockIdx.x, 1) + begin_of(k), count, false, d_bias[k]);
        }
    }
}

}  // namespace

template <class T>
void row_sums(const device::Stream& stream, TensorRef<const T, 2> x, TensorRef<float, 2> sums) {
    const auto of = part_rows(x.extent(0), x.extent(1), {}, sums.extent(1), x.data);
    const NormGroups by{of.width};
    launch_grid(stream, "row_sums", {(of.rows + by.groups - 1) / by.groups, by.block_threads()}, sum_parts<T>,
                of, by.threads, x.data, sums.data);
}

template <class T>
void row_sums_backward(const device::Stream& stream,
                       TensorRef<const T, 2> x,
                       TensorRef<const float, 2> d_sums,
                       TensorRef<T, 2> dx) {
    const auto of = part_rows(x.extent(0), x.extent(1), {}, d_sums.extent(1), x.data, dx.data);
    launch_grid(stream, "row_sums_backward", a_thread_each_pack(of.rows, of.width), add_through_part_sums<T>,
                of, x.data, d_sums.data, dx.data);
}

template <class T>
void split_norm_forward(const device::Stream& stream,
                        const SplitNorm& norm,
                        TensorRef<const T, 2> x,
                        TensorRef<const float, 2> sums,
                        TensorRef<const T, 1> gain,
                        TensorRef<const T, 1> bias,
                        TensorRef<T, 2> y) {
    const auto of =
        part_rows(x.extent(0), x.extent(1), norm, sums.extent(1), x.data, gain.data, bias.data, y.data);
    launch_grid(stream, "split_norm_forward", a_thread_each_pack(of.rows, of.width), normalize_parts<T>, of,
                x.data, sums.data, gain.data, bias.empty() ? nullptr : bias.data, y.data);
}

template <class T>
void split_norm_backward(const device::Stream& stream,
                         const SplitNorm& norm,
                         TensorRef<const T, 2> x,
                         TensorRef<const T, 2> dy,
                         TensorRef<const float, 2> sums,
                         TensorRef<const T, 1> gain,
                         TensorRef<T, 2> dx,
                         Accumulate add_to_dx,
                         TensorRef<float, 2> d_sums,
                         TensorRef<float, 1> d_gain,
                         TensorRef<float, 1> d_bias,
                         Accumulate accumulate,
                         std::span<std::byte> workspace) {
    const auto of =
        part_rows(x.extent(0), x.extent(1), norm, sums.extent(1), x.data, dy.data, gain.data, dx.data);
    // Each block gets at least four rows, because it costs one more sum.
    const auto blocks =
        std::clamp<std::int64_t>(of.rows / 4, 1, layout::CudaWorkspaces::column_sum_blocks(of.width));
    const PartialSums partial{of.rows, of.width, blocks, workspace};
    const PartGradients<T> with{.x = x.data,
                                .dy = dy.data,
                                .sums = sums.data,
                                .gain = gain.data,
                                .dx = dx.data,
                                .add_to_dx = add_to_dx,
                                .d_sums = d_sums.empty() ? nullptr : d_sums.data,
                                .keeps_sums = !d_gain.empty() || !d_bias.empty()};
    for (int begin = 0; begin < of.width; begin += max_part_span) {
        const PartSpan span{begin, std::min(begin + max_part_span, of.width)};
        const auto warps = (packs_of(span.end - span.begin) + warp_size - 1) / warp_size;
        const auto threads = static_cast<int>(std::min<std::int64_t>(warps * warp_size, max_part_threads));
        launch_grid(stream, "split_norm_backward", {blocks, threads}, part_gradients<T>, of, span, with,
                    partial);
    }
    if (with.keeps_sums) {
        finish(stream, partial, accumulate, d_gain, d_bias);
    }
}

#define ZG_REGISTER(T)                              \
    ZG_REGISTER_CUDA_KERNEL(row_sums<T>);           \
    ZG_REGISTER_CUDA_KERNEL(row_sums_backward<T>);  \
    ZG_REGISTER_CUDA_KERNEL(split_norm_forward<T>); \
    ZG_REGISTER_CUDA_KERNEL(split_norm_backward<T>)
ZG_REGISTER(float);
ZG_REGISTER(tensor::bfloat16);
#undef ZG_REGISTER

}  // namespace ziggurat::kernels::cuda
