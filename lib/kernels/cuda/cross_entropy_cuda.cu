#include "kernels/cross_entropy.hpp"

#include <cmath>
#include <cstdint>
#include <span>
#include <type_traits>

#include "kernels/cuda/kept_rows_cuda.hpp"
#include "kernels/cuda/launch_cuda.hpp"
#include "kernels/cuda/row_packs_cuda.hpp"
#include "kernels/cuda/rows_cuda.hpp"
#include "layout/cuda_workspaces.hpp"
#include "tensor/tensor_ref.hpp"

namespace ziggurat::kernels::cuda {
namespace {

using tensor::TensorRef;

LossRow row_of(std::int64_t vocab,
               TensorRef<const std::int32_t, 1> targets,
               TensorRef<const std::uint8_t, 1> mask) {
    return {vocab, targets.data, mask.empty() ? nullptr : mask.data};
}

/// Threads per block of kernels that do not compute gradients of logits that they have just read.
constexpr int threads = 512;
constexpr int max_threads = 1024;

/// Returns the grid of whole_rows.
///
/// The L2 cache should hold the current rows until their gradients are computed. A multiprocessor therefore
/// computes two rows at a time, or one if rows are long.
Grid whole_rows_grid(std::int64_t rows, std::int64_t row_bytes) {
    constexpr std::int64_t cache_bytes = std::int64_t{28} << 20;  // of the 50 MB of an H100
    // Prevents a third block on an H100's multiprocessor. GPUs from compute capability 8.0 on allow this
    // size.
    constexpr int third_of_shared_memory = 80 << 10;
    if (2 * layout::CudaWorkspaces::multiprocessors * row_bytes <= cache_bytes) {
        return {rows, max_threads / 2, third_of_shared_memory};
    }
    return {rows, max_threads};
}

__device__ int warps_of_block() {
    return static_cast<int>(blockDim.x) / warp_size;
}

/// Chunks whose maxima and sums a block holds before it merges them in order.
constexpr int chunks_at_once = 64;

/// State that the warps of a block share, in __shared__ memory.
struct Chunks {
    float top[chunks_at_once], sum[chunks_at_once];
    SumChange change[chunks_at_once];
    LossStatistics kept;
};

/// Returns the maximum and the sum of powers of up to `chunk` columns, with equal bits in all lanes.
template <class T, class Reader>
__device__ LossStatistics statistics_of_chunk(const T* x, int count, bool is_aligned, const Reader& reader) {
    const int lane_begin = static_cast<int>(threadIdx.x) % warp_size * pack;
    RawPack<T> raw[packs_of_lane];
    int left[packs_of_lane];
#pragma unroll
    for (int k = 0; k < packs_of_lane; ++k) {
        const int first = lane_begin + k * warp_size * pack;
        left[k] = count - first < pack ? count - first : pack;
        if (left[k] > 0) {
            raw[k] = load_raw(x + first, left[k], is_aligned);
        }
    }
    float top = lowest_logit;
#pragma unroll
    for (int k = 0; k < packs_of_lane; ++k) {
#pragma unroll
        for (int i = 0; i < pack; ++i) {
            top = i < left[k] ? fmaxf(top, raw[k][i]) : top;
        }
    }
    const float slope = reader.slope();
    const float pivot = reader.exponent(warp_max(top));
    float sum = 0;
#pragma unroll
    for (int k = 0; k < packs_of_lane; ++k) {
#pragma unroll
        for (int i = 0; i < pack; ++i) {
            sum += i < left[k] ? relative_power(reader.read(raw[k][i]), slope, pivot) : 0.0f;
        }
    }
    return {pivot, warp_sum(sum), 0};
}

/// Adds `count` columns chunk by chunk, with the same bits as merge().
///
/// The effects of all chunks on the sum are computed in parallel, because they do not depend on its value.
/// All threads of the block must call it with the same `kept`; all get the result.
template <class T, class Reader>
__device__ void add_columns(const T* x,
                            std::int64_t count,
                            bool is_aligned,
                            const Reader& reader,
                            Chunks& chunks,
                            LossStatistics& kept) {
    const auto all = (count + chunk - 1) / chunk;
    for (std::int64_t first = 0; first < all; first += chunks_at_once) {
        const auto some = static_cast<int>(all - first < chunks_at_once ? all - first : chunks_at_once);
        for (int c = threadIdx.x / warp_size; c < some; c += warps_of_block()) {
            const auto begin = (first + c) * chunk;
            const auto left = static_cast<int>(count - begin < chunk ? count - begin : chunk);
            const auto of = statistics_of_chunk(x + begin, left, is_aligned, reader);
            if (threadIdx.x % warp_size == 0) {
                chunks.top[c] = of.top;
                chunks.sum[c] = of.sum;
            }
        }
        __syncthreads();
        const int own = static_cast<int>(threadIdx.x);
        if (own < some) {
            float top = kept.top;
            for (int c = 0; c < own; ++c) {
                top = merged_top(top, chunks.top[c]);
            }
            chunks.change[own] = change_by(chunks.top[own], chunks.sum[own], top);
        }
        __syncthreads();
        if (threadIdx.x == 0) {
            for (int c = 0; c < some; ++c) {
                make(chunks.change[c], chunks.top[c], kept);
            }
            chunks.kept = kept;
        }
        __syncthreads();
        kept = chunks.kept;
    }
}

template <class T>
__device__ void fill_with_zeros(T* x, std::int64_t count, bool is_aligned) {
    const float zeros[pack]{};
    for (std::int64_t first = threadIdx.x * pack; first < count;
         first += static_cast<int>(blockDim.x) * pack) {
        store_some(x + first, static_cast<int>(count - first < pack ? count - first : pack), is_aligned,
                   zeros);
    }
}

/// Computes x = scale * (softmax(z) - onehot(target)), through the cap; 0 for columns from `valid` on.
///
/// Same as the host's gradient_row.
template <class T, class Reader>
__device__ void gradient_row(T* x,
                             std::int64_t valid,
                             std::int64_t padded,
                             std::int64_t target,
                             const Reader& reader,
                             float log2_of_sum,
                             float scale,
                             bool is_aligned) {
    if (scale == 0) {
        fill_with_zeros(x, padded, is_aligned);
        return;
    }
    const float pivot = gradient_pivot(log2_of_sum, fabsf(scale));
    const float sign = copysignf(1.0F, scale);
    const float slope = reader.slope();
    constexpr int at_once = 2;  // packs of a thread
    const int step = static_cast<int>(blockDim.x) * pack;
    for (std::int64_t begin = threadIdx.x * pack; begin < padded; begin += at_once * step) {
        RawPack<T> raw[at_once];
#pragma unroll
        for (int k = 0; k < at_once; ++k) {
            if (const auto first = begin + k * step; first < padded) {
                raw[k] = load_raw(x + first, static_cast<int>(padded - first < pack ? padded - first : pack),
                                  is_aligned);
            }
        }
#pragma unroll
        for (int k = 0; k < at_once; ++k) {
            const auto first = begin + k * step;
            if (first >= padded) {
                break;
            }
            float value[pack];
            raw[k].to_floats(value);
#pragma unroll
            for (int i = 0; i < pack; ++i) {
                const float read = reader.read(value[i]);
                if (first + i == target) {
                    const float gradient = target_gradient(loss_of(read * slope, log2_of_sum), scale);
                    value[i] = reader.through_cap(gradient, read);
                } else {
                    const float gradient =
                        reader.through_cap(sign * relative_power(read, slope, pivot), read);
                    value[i] = first + i < valid ? gradient : 0.0F;
                }
            }
            store_some(x + first, static_cast<int>(padded - first < pack ? padded - first : pack), is_aligned,
                       value);
        }
    }
}

/// One block for each row; `logits` become gradients unless `inputs` is null.
template <class T, class Logits, class Reader>
__global__ void __launch_bounds__(max_threads) whole_rows(LossRow of,
                                                          Logits* logits,
                                                          std::int64_t padded,
                                                          bool is_aligned,
                                                          const StepInputs* inputs,
                                                          Reader reader,
                                                          float logit_factor,
                                                          float* losses) {
    __shared__ Chunks chunks;
    const std::int64_t row = blockIdx.x;
    auto* x = logits + row * padded;
    if (!of.is_counted(row)) {
        if constexpr (!std::is_const_v<Logits>) {
            fill_with_zeros(x, padded, is_aligned);
        }
        if (threadIdx.x == 0) {
            losses[row] = 0;
        }
        return;
    }
    LossStatistics kept = no_columns;
    add_columns<T>(x, of.vocab, is_aligned, reader, chunks, kept);
    const float log2_of_sum = of.has_target(row) ? log2_sum(kept) : NAN;
    if (threadIdx.x == 0) {
        const float target = of.has_target(row) ? reader.exponent(float(x[of.targets[row]])) : 0.0f;
        losses[row] = loss_of(target, log2_of_sum);
    }
    __syncthreads();  // all have read the target's logit
    if constexpr (!std::is_const_v<Logits>) {
        gradient_row(x, of.vocab, padded, of.targets[row], reader, log2_of_sum,
                     inputs->loss_scale * logit_factor, is_aligned);
    }
}

template <class T, class Reader>
__global__ void __launch_bounds__(threads) tile_of_rows(LossRow of,
                                                        const T* logits,
                                                        std::int64_t first,
                                                        std::int64_t width,
                                                        bool is_aligned,
                                                        Accumulate accumulate,
                                                        Reader reader,
                                                        LossStatistics* statistics) {
    __shared__ Chunks chunks;
    const std::int64_t row = blockIdx.x;
    LossStatistics kept = no_columns;
    if (accumulate == Accumulate::yes) {
        kept = statistics[row];
        __syncthreads();  // all have read it
    }
    if (of.is_counted(row)) {
        const T* x = logits + row * width;
        const auto to_end = of.vocab > first ? of.vocab - first : 0;
        const auto valid = to_end < width ? to_end : width;
        add_columns<T>(x, valid, is_aligned, reader, chunks, kept);
        const auto target = of.targets[row] - first;
        if (!of.has_target(row)) {
            kept.sum = NAN;
        } else if (0 <= target && target < valid) {
            kept.at_target = reader.exponent(float(x[target]));
        }
    }
    if (threadIdx.x == 0) {
        statistics[row] = kept;
    }
}

template <class T, class Reader>
__global__ void __launch_bounds__(threads) gradients_of_tile(LossRow of,
                                                             T* logits,
                                                             std::int64_t first,
                                                             std::int64_t width,
                                                             bool is_aligned,
                                                             const float* weights,
                                                             const LossStatistics* statistics,
                                                             const StepInputs* inputs,
                                                             Reader reader,
                                                             float logit_factor) {
    const std::int64_t row = blockIdx.x;
    T* x = logits + row * width;
    if (!of.is_counted(row)) {
        fill_with_zeros(x, width, is_aligned);
        return;
    }
    const auto to_end = of.vocab > first ? of.vocab - first : 0;
    const float scale = inputs->loss_scale * logit_factor;
    gradient_row(x, to_end < width ? to_end : width, width, of.targets[row] - first, reader,
                 log2_sum(statistics[row]), weights == nullptr ? scale : scale * weights[row], is_aligned);
}

__global__ void __launch_bounds__(threads) merge_slices(const LossStatistics* slices,
                                                        std::int64_t count,
                                                        std::int64_t rows,
                                                        LossStatistics* merged) {
    const auto row = thread_of_grid();
    if (row >= rows) {
        return;
    }
    LossStatistics kept = slices[row];
    for (auto next = row + rows; next < count; next += rows) {
        merge(kept, slices[next]);
    }
    merged[row] = kept;
}

__global__ void __launch_bounds__(threads)
    losses_of(const LossStatistics* statistics, const std::uint8_t* mask, std::int64_t rows, float* losses) {
    const auto row = thread_of_grid();
    if (row < rows) {
        const auto kept = statistics[row];
        losses[row] = mask == nullptr || mask[row] != 0 ? loss_of(kept.at_target, log2_sum(kept)) : 0.0f;
    }
}

}  // namespace

template <class T>
void cross_entropy(const device::Stream& stream,
                   TensorRef<T, 2> logits,
                   std::int64_t vocab,
                   TensorRef<const std::int32_t, 1> targets,
                   TensorRef<const std::uint8_t, 1> mask,
                   const StepInputs* inputs,
                   TensorRef<float, 1> losses,
                   const LogitTransform& transform) {
    if constexpr (sizeof(T) == 2) {
        const auto columns = logits.extent(1);
        if (transform.cap == 0 && are_rows_aligned(columns, logits.data) &&
            columns <= KeptRows::max_columns) {
            const KeptRows by{columns, max_shared_bytes(stream)};
            const auto kernel =
                by.is_short ? kept_rows<KeptRows::short_threads, 2> : kept_rows<KeptRows::long_threads, 1>;
            launch_grid(stream, "cross_entropy", by.grid(logits.extent(0)), kernel,
                        row_of(vocab, targets, mask), logits.data, logits.extent(0), columns, by.kept_chunks,
                        inputs, transform.factor, losses.data);
            return;
        }
    }
    with_reader(transform, [&](auto reader) {
        launch_grid(
            stream, "cross_entropy",
            whole_rows_grid(logits.extent(0), logits.extent(1) * static_cast<std::int64_t>(sizeof(T))),
            whole_rows<T, T, decltype(reader)>, row_of(vocab, targets, mask), logits.data, logits.extent(1),
            are_rows_aligned(logits.extent(1), logits.data), inputs, reader, transform.factor, losses.data);
    });
}

template <class T>
void cross_entropy_loss_only(const device::Stream& stream,
                             TensorRef<const T, 2> logits,
                             std::int64_t vocab,
                             TensorRef<const std::int32_t, 1> targets,
                             TensorRef<const std::uint8_t, 1> mask,
                             TensorRef<float, 1> losses,
                             const LogitTransform& transform) {
    with_reader(transform, [&](auto reader) {
        launch_grid(stream, "cross_entropy_loss_only", {logits.extent(0), threads},
                    whole_rows<T, const T, decltype(reader)>, row_of(vocab, targets, mask), logits.data,
                    logits.extent(1), are_rows_aligned(logits.extent(1), logits.data),
                    static_cast<const StepInputs*>(nullptr), reader, transform.factor, losses.data);
    });
}

template <class T>
void cross_entropy_tile(const device::Stream& stream,
                        TensorRef<const T, 2> logits,
                        std::int64_t first,
                        std::int64_t vocab,
                        TensorRef<const std::int32_t, 1> targets,
                        TensorRef<const std::uint8_t, 1> mask,
                        Accumulate accumulate,
                        std::span<LossStatistics> statistics,
                        const LogitTransform& transform) {
    with_reader(transform, [&](auto reader) {
        launch_grid(stream, "cross_entropy_tile", {logits.extent(0), threads},
                    tile_of_rows<T, decltype(reader)>, row_of(vocab, targets, mask), logits.data, first,
                    logits.extent(1), are_rows_aligned(logits.extent(1), logits.data), accumulate, reader,
                    statistics.data());
    });
}

void merge_statistics(const device::Stream& stream,
                      std::span<const LossStatistics> slices,
                      std::span<LossStatistics> merged) {
    const auto rows = static_cast<std::int64_t>(merged.size());
    launch_grid(stream, "merge_statistics", a_thread_each(rows), merge_slices, slices.data(),
                static_cast<std::int64_t>(slices.size()), rows, merged.data());
}

void losses_of_statistics(const device::Stream& stream,
                          std::span<const LossStatistics> statistics,
                          TensorRef<const std::uint8_t, 1> mask,
                          TensorRef<float, 1> losses) {
    const auto rows = losses.extent(0);
    launch_grid(stream, "losses_of_statistics", a_thread_each(rows), losses_of, statistics.data(),
                mask.empty() ? nullptr : mask.data, rows, losses.data);
}

template <class T>
void cross_entropy_tile_gradient(const device::Stream& stream,
                                 TensorRef<T, 2> logits,
                                 std::int64_t first,
                                 std::int64_t vocab,
                                 TensorRef<const std::int32_t, 1> targets,
                                 TensorRef<const std::uint8_t, 1> mask,
                                 TensorRef<const float, 1> weights,
                                 std::span<const LossStatistics> statistics,
                                 const StepInputs* inputs,
                                 const LogitTransform& transform) {
    with_reader(transform, [&](auto reader) {
        launch_grid(stream, "cross_entropy_tile_gradient", {logits.extent(0), threads},
                    gradients_of_tile<T, decltype(reader)>, row_of(vocab, targets, mask), logits.data, first,
                    logits.extent(1), are_rows_aligned(logits.extent(1), logits.data),
                    weights.empty() ? nullptr : weights.data, statistics.data(), inputs, reader,
                    transform.factor);
    });
}

ZG_REGISTER_CUDA_KERNEL(cross_entropy_tile<float>);
ZG_REGISTER_CUDA_KERNEL(cross_entropy_tile<tensor::bfloat16>);
ZG_REGISTER_CUDA_KERNEL(cross_entropy_tile_gradient<float>);
ZG_REGISTER_CUDA_KERNEL(cross_entropy_tile_gradient<tensor::bfloat16>);
ZG_REGISTER_CUDA_KERNEL(cross_entropy<float>);
ZG_REGISTER_CUDA_KERNEL(cross_entropy<tensor::bfloat16>);
ZG_REGISTER_CUDA_KERNEL(cross_entropy_loss_only<float>);
ZG_REGISTER_CUDA_KERNEL(cross_entropy_loss_only<tensor::bfloat16>);
ZG_REGISTER_CUDA_KERNEL(merge_statistics);
ZG_REGISTER_CUDA_KERNEL(losses_of_statistics);

}  // namespace ziggurat::kernels::cuda
