/// Losses of rows that stay in shared memory; only cross_entropy_cuda.cu includes it.
///
/// Rows are of bfloat16, become gradients, and are read once. While a block stores the gradients of one row,
/// it copies the next one (cp.async) and computes its statistics. All bits are those of the kernels that read
/// rows twice.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "kernels/cross_entropy.hpp"
#include "kernels/cuda/fragments_cuda.hpp"
#include "kernels/cuda/launch_cuda.hpp"
#include "kernels/cuda/row_packs_cuda.hpp"
#include "layout/cuda_workspaces.hpp"

namespace ziggurat::kernels::cuda {

/// Columns that a single warp sums; tiles of the vocabulary are multiples of it.
inline constexpr std::int64_t chunk = 1024;
/// Packs of a chunk that a lane holds in registers.
inline constexpr int packs_of_lane = chunk / (warp_size * pack);

/// Inputs of the losses of rows.
///
/// A GPU cannot reject an invalid target: it does not read the logit and makes the loss, and so the
/// gradients, NaN.
struct LossRow {
    std::int64_t vocab;
    const std::int32_t* targets;
    const std::uint8_t* mask;  // null: all rows count

    __device__ bool is_counted(std::int64_t row) const { return mask == nullptr || mask[row] != 0; }
    __device__ bool has_target(std::int64_t row) const { return 0 <= targets[row] && targets[row] < vocab; }
};

/// Blocks and shared memory of kept_rows.
struct KeptRows {
    static constexpr int short_threads = 256, long_threads = 512;
    static constexpr int max_chunks = 256;
    static constexpr std::int64_t max_columns = max_chunks * chunk;

    bool is_short;    ///< two rows fit in a multiprocessor
    int kept_chunks;  ///< of a row in shared memory; others are read twice
    int shared_bytes;

    /// \param max_bytes  shared memory that a block can use
    KeptRows(std::int64_t columns, std::int64_t max_bytes) {
        constexpr std::int64_t other_bytes = 3 << 10;  // KeptChunks, and what CUDA reserves for a block
        constexpr std::int64_t element_bytes = 2;
        constexpr auto chunk_bytes = chunk * element_bytes;
        const auto available = max_bytes - other_bytes;
        const auto row_bytes = columns * element_bytes;
        const bool is_whole = row_bytes <= available;
        is_short = 2 * (row_bytes + other_bytes) <= available;
        kept_chunks = static_cast<int>(is_whole ? (columns + chunk - 1) / chunk : available / chunk_bytes);
        shared_bytes = static_cast<int>(is_whole ? row_bytes : kept_chunks * chunk_bytes);
    }
    /// Returns the grid whose blocks an H100 can hold at once.
    Grid grid(std::int64_t rows) const {
        const std::int64_t blocks = (is_short ? 2 : 1) * layout::CudaWorkspaces::multiprocessors;
        return {std::min(rows, blocks), is_short ? short_threads : long_threads, shared_bytes};
    }
};

/// Waits until at most `groups` groups of copies are in flight, or 7 if `groups` is larger.
__device__ inline void wait_for_copies_up_to(int groups) {
    switch (groups) {
        case 0:
            return wait_for_copies<0>();
        case 1:
            return wait_for_copies<1>();
        case 2:
            return wait_for_copies<2>();
        case 3:
            return wait_for_copies<3>();
        case 4:
            return wait_for_copies<4>();
        case 5:
            return wait_for_copies<5>();
        case 6:
            return wait_for_copies<6>();
        default:
            return wait_for_copies<7>();
    }
}

/// Packs of a chunk in the registers of a lane.
struct ChunkOfLane {
    using Pack = RawPack<tensor::bfloat16>;
    Pack raw[packs_of_lane];

    /// Returns the first column of the lane's pack number `k`.
    __device__ static int begin(int k) {
        return (static_cast<int>(threadIdx.x) % warp_size + k * warp_size) * pack;
    }
    /// Reads the packs among the first `count` columns.
    __device__ ChunkOfLane(const bfloat16* x, int count) {
#pragma unroll
        for (int k = 0; k < packs_of_lane; ++k) {
            if (begin(k) < count) {
                raw[k] = *reinterpret_cast<const Pack*>(x + begin(k));
            }
        }
    }
};

/// Starts copies of the lane's packs of a chunk. The same lane reads them from shared memory.
__device__ inline void copy_chunk(bfloat16* to, const bfloat16* from, int count) {
#pragma unroll
    for (int k = 0; k < packs_of_lane; ++k) {
        if (const int first = ChunkOfLane::begin(k); first < count) {
            copy_async<16>(to + first, from + first, true);
        }
    }
}

/// Returns the maximum and the sum of powers of the first `count` columns.
///
/// All lanes get equal bits.
///
/// \tparam is_whole  `count` is `chunk`.
template <bool is_whole>
__device__ inline LossStatistics statistics_of_columns(const ChunkOfLane& of, int count, float slope) {
    float top = lowest_logit;
#pragma unroll
    for (int k = 0; k < packs_of_lane; ++k) {
        const int left = count - ChunkOfLane::begin(k);
#pragma unroll
        for (int i = 0; i < pack; ++i) {
            top = is_whole || i < left ? fmaxf(top, of.raw[k][i]) : top;
        }
    }
    const float pivot = warp_max(top) * slope;
    float sum = 0;
#pragma unroll
    for (int k = 0; k < packs_of_lane; ++k) {
        const int left = count - ChunkOfLane::begin(k);
#pragma unroll
        for (int i = 0; i < pack; ++i) {
            sum += is_whole || i < left ? relative_power(of.raw[k][i], slope, pivot) : 0.0f;
        }
    }
    return {pivot, warp_sum(sum), 0};
}

__device__ inline LossStatistics statistics_of(const ChunkOfLane& of, int count, float slope) {
    return count == chunk ? statistics_of_columns<true>(of, count, slope)
                          : statistics_of_columns<false>(of, count, slope);
}

/// Gradients of a row.
struct RowGradients {
    float slope;      ///< see slope_of; the same in all rows
    float pivot;      ///< see gradient_pivot
    float of_target;  ///< the gradient of the target's logit
};

/// Stores the gradients of the first `count` columns of a chunk; 0 from column `valid` on.
///
/// \param target  relative to the chunk; may lie outside
__device__ inline void store_gradients(
    const ChunkOfLane& of, bfloat16* to, int count, int valid, int target, const RowGradients& gradients) {
    const bool is_plain = valid >= chunk && (target < 0 || target >= chunk);
#pragma unroll
    for (int k = 0; k < packs_of_lane; ++k) {
        const int first = ChunkOfLane::begin(k);
        if (first >= count) {
            break;
        }
        float value[pack];
        of.raw[k].to_floats(value);
        if (is_plain) {
#pragma unroll
            for (int i = 0; i < pack; ++i) {
                value[i] = relative_power(value[i], gradients.slope, gradients.pivot);
            }
        } else {
#pragma unroll
            for (int i = 0; i < pack; ++i) {
                const float power =
                    first + i < valid ? relative_power(value[i], gradients.slope, gradients.pivot) : 0.0F;
                value[i] = first + i == target ? gradients.of_target : power;
            }
        }
        store_pack(to + first, value);
    }
}

/// State that the warps of a block share, besides the row.
struct KeptChunks {
    float top[KeptRows::max_chunks], sum[KeptRows::max_chunks];
    RowGradients gradients;
};

/// Merges the statistics of chunks in order, with the same bits as merge().
///
/// All lanes of one warp must call it.
__device__ inline LossStatistics merge_in_order(const KeptChunks& chunks, int count) {
    const int lane = static_cast<int>(threadIdx.x) % warp_size;
    LossStatistics kept = no_columns;
    for (int first = 0; first < count; first += warp_size) {
        const int own = first + lane;
        const float top = own < count ? chunks.top[own] : no_columns.top;
        const float sum = own < count ? chunks.sum[own] : 0.0F;
        float up_to = merged_top(kept.top, top);
#pragma unroll
        for (int distance = 1; distance < warp_size; distance *= 2) {
            const float other = __shfl_up_sync(all_lanes, up_to, distance);
            up_to = lane >= distance ? merged_top(up_to, other) : up_to;
        }
        const float before = __shfl_up_sync(all_lanes, up_to, 1);
        const auto change = change_by(top, sum, lane == 0 ? kept.top : before);
#pragma unroll
        for (int i = 0; i < warp_size; ++i) {
            const float factor = __shfl_sync(all_lanes, change.factor, i);
            const float addend = __shfl_sync(all_lanes, change.addend, i);
            kept.sum = first + i < count ? std::fma(kept.sum, factor, addend) : kept.sum;
        }
        kept.top = __shfl_sync(all_lanes, up_to, warp_size - 1);
    }
    return kept;
}

/// Computes losses and gradients of rows; `logits` become gradients.
///
/// A block computes every n-th row. Its warps own every n-th chunk of a row. A chunk's place in shared memory
/// gets the chunk of the next row after its gradients are stored, and the statistics of that chunk are
/// computed `delay` chunks later.
///
/// \pre rows are aligned, and have at most KeptRows::max_columns
template <int threads_of_block, int blocks_at_once>
__global__ void __launch_bounds__(threads_of_block, blocks_at_once) kept_rows(LossRow of,
                                                                              bfloat16* logits,
                                                                              std::int64_t rows,
                                                                              std::int64_t padded,
                                                                              int kept_chunks,
                                                                              const StepInputs* inputs,
                                                                              float logit_factor,
                                                                              float* losses) {
    constexpr int delay = 2;
    constexpr int warps = threads_of_block / warp_size;
    __shared__ KeptChunks chunks;
    const int warp = static_cast<int>(threadIdx.x) / warp_size;
    const int lane = static_cast<int>(threadIdx.x) % warp_size;
    bfloat16* const kept = block_memory();
    const int num_chunks = static_cast<int>((padded + chunk - 1) / chunk);
    const int num_counted = static_cast<int>((of.vocab + chunk - 1) / chunk);
    const int rounds = (num_chunks + warps - 1) / warps;
    const float slope = logit_factor * log2_of_e;
    const float scale = inputs->loss_scale * logit_factor;

    const auto up_to_chunk = [](std::int64_t left) { return static_cast<int>(left < chunk ? left : chunk); };
    const auto start_copy = [&](std::int64_t row, int c) {
        if (row < rows && c < num_chunks && c < kept_chunks) {
            copy_chunk(kept + c * chunk, logits + row * padded + c * chunk, up_to_chunk(padded - c * chunk));
        }
        commit_copies();
    };
    const auto load = [&](std::int64_t row, int c) {
        return ChunkOfLane{c < kept_chunks ? kept + c * chunk : logits + row * padded + c * chunk,
                           up_to_chunk(padded - c * chunk)};
    };
    const auto compute_statistics = [&](std::int64_t row, int c) {
        if (row < rows && c < num_counted && of.is_counted(row)) {
            const auto found = statistics_of(load(row, c), up_to_chunk(of.vocab - c * chunk), slope);
            if (lane == 0) {
                chunks.top[c] = found.top;
                chunks.sum[c] = found.sum;
            }
        }
    };

    std::int64_t row = blockIdx.x;
    for (int k = 0; k < rounds; ++k) {
        start_copy(row, warp + k * warps);
    }
    for (int k = 0; k < rounds; ++k) {
        wait_for_copies_up_to(rounds - 1 - k);
        compute_statistics(row, warp + k * warps);
    }
    for (; row < rows; row += gridDim.x) {
        const bool is_counted = of.is_counted(row);
        const int target = is_counted ? of.targets[row] : -1;
        bfloat16* const x = logits + row * padded;
        const bool has_target = is_counted && of.has_target(row);
        const float at_target = warp == 0 && has_target ? float(x[target]) * slope : 0.0F;
        __syncthreads();
        if (warp == 0) {
            float log2_of_sum = 0, loss = 0;
            if (is_counted) {
                const auto merged = merge_in_order(chunks, num_counted);
                log2_of_sum = has_target ? log2_sum(merged) : NAN;
                loss = loss_of(at_target, log2_of_sum);
            }
            if (lane == 0) {
                chunks.gradients.slope = slope;
                chunks.gradients.pivot = is_counted && scale != 0 ? gradient_pivot(log2_of_sum, scale) : 0.0F;
                chunks.gradients.of_target = target_gradient(loss, scale);
                losses[row] = loss;
            }
        }
        __syncthreads();
        const bool has_gradient = is_counted && scale != 0;
        const RowGradients gradients = chunks.gradients;
        const std::int64_t next = row + gridDim.x;
        for (int k = 0; k < rounds; ++k) {
            const int c = warp + k * warps;
            if (c < num_chunks) {
                const int count = up_to_chunk(padded - c * chunk);
                const int begin = c * static_cast<int>(chunk);
                if (has_gradient) {
                    store_gradients(load(row, c), x + begin, count, static_cast<int>(of.vocab) - begin,
                                    target - begin, gradients);
                } else {
                    const float zeros[pack]{};
                    for (int first = lane * pack; first < count; first += warp_size * pack) {
                        store_pack(x + begin + first, zeros);
                    }
                }
            }
            start_copy(next, c);
            if (k >= delay) {
                wait_for_copies<delay>();
                compute_statistics(next, c - delay * warps);
            }
        }
        for (int k = rounds > delay ? rounds - delay : 0; k < rounds; ++k) {
            wait_for_copies_up_to(rounds - 1 - k);
            compute_statistics(next, warp + k * warps);
        }
    }
}

}  // namespace ziggurat::kernels::cuda
