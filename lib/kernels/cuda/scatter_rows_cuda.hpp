/// Scatter-add of gradient rows to table rows; only embedding_cuda.cu includes it.
///
/// A block owns every n-th row of the table, so that frequent tokens are distributed over blocks, and some of
/// the columns. It lists and sorts the tokens of its rows in windows of consecutive tokens. One warp adds
/// each short range of equal rows. All warps add a long one, and their sums are added in order. So the order
/// of sums depends only on the tokens and the shape.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/cuda/dropout_cuda.hpp"
#include "kernels/cuda/fragments_cuda.hpp"
#include "kernels/cuda/row_packs_cuda.hpp"
#include "kernels/cuda/rows_cuda.hpp"
#include "layout/cuda_workspaces.hpp"

namespace ziggurat::kernels::cuda {

/// Table rows that consecutive tokens select.
struct AskedRows {
    const std::int32_t* indices;
    std::int64_t count;
    std::int64_t first;  ///< first table row of this slice of the table
    std::int64_t rows;   ///< table rows in this slice
};

/// Grid of a scatter-add: a block for each group of table rows and slice of columns.
struct ScatterGrid {
    static constexpr int threads = 1024;
    static constexpr int warps = threads / warp_size;
    static constexpr int columns = warp_size * pack;  ///< of a slice
    /// Bits of a token's position in its window. The other bits of a key have the row's number in its group.
    static constexpr int token_bits = 14;
    /// Tokens of a window.
    static constexpr int window = 1 << token_bits;

    std::int64_t slices;
    std::int64_t groups;

    ScatterGrid(std::int64_t rows, std::int64_t width) : slices{(width + columns - 1) / columns} {
        const auto at_once = std::max<std::int64_t>(1, layout::CudaWorkspaces::multiprocessors / slices);
        const auto min_groups = (rows >> (32 - token_bits)) + 1;
        groups = std::max(min_groups, std::min(at_once, rows));
    }
    std::int64_t blocks(std::int64_t rows) const { return rows == 0 ? 0 : groups * slices; }
};

/// The part of a scatter-add that a block computes.
template <class T>
struct ScatterPart {
    AskedRows asked;
    std::uint32_t group, groups;
    std::int64_t width, at;  ///< columns of a row; the first column of this thread
    int columns;             ///< of this thread
    bool is_aligned;
    const T* d_out;
    float scale;
    float* d_table;

    /// Returns this thread's columns of the group's row number `row`.
    __device__ float* table_row(std::uint32_t row) const {
        return d_table + (static_cast<std::int64_t>(row) * groups + group) * width + at;
    }
};

/// Shared memory of a block.
struct ScatterMemory {
    static constexpr int long_range = 64;  ///< minimum length of a range that all warps add

    std::uint32_t keys[ScatterGrid::window];  ///< row << token_bits | token
    float sums[ScatterGrid::warps][pack][warp_size];
    int long_ranges[ScatterGrid::window / long_range];  ///< (length - 1) << token_bits | first key
    int num_keys;
    int num_long_ranges;

    __device__ std::uint32_t row(int i) const { return keys[i] >> ScatterGrid::token_bits; }
};

/// Lists the tokens of a window whose rows belong to the block's group, in any order.
template <class T>
__device__ inline void list_tokens(const ScatterPart<T>& of,
                                   std::int64_t window,
                                   int tokens,
                                   ScatterMemory& memory) {
    constexpr int looks = 8;  // loads in flight
    constexpr std::uint32_t no_row = 0xffffffffu;
    const int lane = static_cast<int>(threadIdx.x) % warp_size;
    for (int begin = 0; begin < tokens; begin += looks * ScatterGrid::threads) {
        std::uint32_t index[looks];
#pragma unroll
        for (int look = 0; look < looks; ++look) {
            const int token = begin + look * ScatterGrid::threads + static_cast<int>(threadIdx.x);
            const std::int64_t row = token < tokens ? of.asked.indices[window + token] - of.asked.first : -1;
            index[look] = row >= 0 && row < of.asked.rows ? static_cast<std::uint32_t>(row) : no_row;
        }
#pragma unroll
        for (int look = 0; look < looks; ++look) {
            const std::uint32_t own = index[look] / of.groups;
            const bool asks = index[look] != no_row && index[look] - own * of.groups == of.group;
            const unsigned asking = __ballot_sync(all_lanes, asks);
            if (asking == 0) {
                continue;
            }
            int to = 0;
            if (lane == 0) {
                to = atomicAdd(&memory.num_keys, __popc(asking));
            }
            to = __shfl_sync(all_lanes, to, 0);
            if (asks) {
                const int token = begin + look * ScatterGrid::threads + static_cast<int>(threadIdx.x);
                memory.keys[to + __popc(asking & ((1U << lane) - 1))] =
                    own << ScatterGrid::token_bits | static_cast<std::uint32_t>(token);
            }
        }
    }
}

/// Sorts the listed keys in ascending order (bitonic sort). All threads of the block must call it.
__device__ inline void sort_keys(ScatterMemory& memory, int count) {
    constexpr int keys_of_warp = 2 * warp_size;
    std::uint32_t* const keys = memory.keys;
    int size = keys_of_warp;
    while (size < count) {
        size *= 2;
    }
    for (int i = count + static_cast<int>(threadIdx.x); i < size; i += ScatterGrid::threads) {
        keys[i] = 0xffffffffu;
    }
    __syncthreads();
    for (int width = 2; width <= size; width *= 2) {
        for (int distance = width / 2; distance > 0; distance /= 2) {
            for (int n = static_cast<int>(threadIdx.x); n < size / 2; n += ScatterGrid::threads) {
                const int low = 2 * n - (n & (distance - 1));
                const int high = low + distance;
                const bool ascends = (low & width) == 0;
                const auto a = keys[low], b = keys[high];
                if ((a > b) == ascends) {
                    keys[low] = b;
                    keys[high] = a;
                }
            }
            // A warp owns keys_of_warp adjacent keys as long as distances are smaller.
            if (distance >= warp_size || (distance == 1 && width >= keys_of_warp)) {
                __syncthreads();
            } else {
                __syncwarp();
            }
        }
    }
    __syncthreads();
}

/// Adds the gradients of keys [begin, end), in order.
template <bool is_shifted, class T>
__device__ inline void add_gradients(const ScatterPart<T>& of,
                                     const DropoutPacks<is_shifted>& dropped,
                                     std::int64_t window,
                                     const std::uint32_t* keys,
                                     int begin,
                                     int end,
                                     float (&total)[pack]) {
    constexpr int in_flight = is_shifted ? 1 : sizeof(T) == 2 ? 4 : 2;  // loads of a thread
    for (int first = begin; first < end; first += in_flight) {
        RawPack<T> raw[in_flight];
        int token[in_flight];  // in the window
#pragma unroll
        for (int m = 0; m < in_flight; ++m) {
            if (first + m < end) {
                token[m] = static_cast<int>(keys[first + m] & (ScatterGrid::window - 1));
                raw[m] =
                    load_raw(of.d_out + (window + token[m]) * of.width + of.at, of.columns, of.is_aligned);
            }
        }
#pragma unroll
        for (int m = 0; m < in_flight; ++m) {
            if (first + m < end) {
                float value[pack], factor[pack];
                raw[m].to_floats(value);
                if (dropped.drops()) {
                    dropped.factors(window + token[m], of.at, factor);
                }
#pragma unroll
                for (int i = 0; i < pack; ++i) {
                    total[i] += of.scale * (dropped.drops() ? value[i] * factor[i] : value[i]);
                }
            }
        }
    }
}

/// Returns the end of the range of equal rows from key `begin` on. Keys before `end` belong to it.
__device__ inline int end_of_range(const ScatterMemory& memory, int begin, int end, int count) {
    const std::uint32_t row = memory.row(begin);
    int step = 1;
    while (end + step <= count && memory.row(end + step - 1) == row) {
        end += step;
        step *= 2;
    }
    for (; step > 0; step /= 2) {
        if (end + step <= count && memory.row(end + step - 1) == row) {
            end += step;
        }
    }
    return end;
}

/// Adds the short ranges, each by one warp, and lists the long ones.
template <bool is_shifted, class T>
__device__ inline void add_short_ranges(const ScatterPart<T>& of,
                                        const DropoutPacks<is_shifted>& dropped,
                                        std::int64_t window,
                                        int count,
                                        ScatterMemory& memory) {
    const int warp = static_cast<int>(threadIdx.x) / warp_size;
    const int lane = static_cast<int>(threadIdx.x) % warp_size;
    // Keys that a warp examines at a time: few enough that all warps get some.
    int part = warp_size;
    while (part > 1 && count < part * ScatterGrid::warps * 4) {
        part /= 2;
    }
    for (int base = warp * part; base < count; base += ScatterGrid::warps * part) {
        const int own = base + lane;
        const bool begins =
            own <= count && (own == 0 || own == count || memory.row(own - 1) != memory.row(own));
        const unsigned begins_of_lanes = __ballot_sync(all_lanes, begins);
        unsigned left = part == warp_size ? begins_of_lanes : begins_of_lanes & ((1U << part) - 1);
        while (left != 0) {
            const int first = __ffs(static_cast<int>(left)) - 1;
            left &= left - 1;
            const int begin = base + first;
            if (begin >= count) {
                break;
            }
            const unsigned later = first == warp_size - 1 ? 0 : begins_of_lanes >> (first + 1);
            const int end = later != 0
                                ? begin + __ffs(static_cast<int>(later))
                                : end_of_range(memory, begin, std::min(base + warp_size, count), count);
            if (end - begin >= ScatterMemory::long_range) {
                if (lane == 0) {
                    memory.long_ranges[atomicAdd(&memory.num_long_ranges, 1)] =
                        begin | (end - begin - 1) << ScatterGrid::token_bits;
                }
                continue;
            }
            float* const to = of.table_row(memory.row(begin));
            float total[pack];
            load_some(static_cast<const float*>(to), of.columns, of.is_aligned, total);
            add_gradients(of, dropped, window, memory.keys, begin, end, total);
            store_some(to, of.columns, of.is_aligned, total);
        }
    }
}

/// Adds the long ranges, each by all warps. All threads of the block must call it.
template <bool is_shifted, class T>
__device__ inline void add_long_ranges(const ScatterPart<T>& of,
                                       const DropoutPacks<is_shifted>& dropped,
                                       std::int64_t window,
                                       ScatterMemory& memory) {
    constexpr int warps = ScatterGrid::warps;
    const int warp = static_cast<int>(threadIdx.x) / warp_size;
    const int lane = static_cast<int>(threadIdx.x) % warp_size;
    const int num_ranges = memory.num_long_ranges;
    for (int n = 0; n < num_ranges; ++n) {
        const int begin = memory.long_ranges[n] & (ScatterGrid::window - 1);
        const int length = (memory.long_ranges[n] >> ScatterGrid::token_bits) + 1;
        float total[pack] = {};
        add_gradients(of, dropped, window, memory.keys, begin + length * warp / warps,
                      begin + length * (warp + 1) / warps, total);
#pragma unroll
        for (int i = 0; i < pack; ++i) {
            memory.sums[warp][i][lane] = total[i];
        }
        __syncthreads();
        if (warp == n % warps) {
            float* const to = of.table_row(memory.row(begin));
            load_some(static_cast<const float*>(to), of.columns, of.is_aligned, total);
            for (int w = 0; w < warps; ++w) {
#pragma unroll
                for (int i = 0; i < pack; ++i) {
                    total[i] += memory.sums[w][i][lane];
                }
            }
            store_some(to, of.columns, of.is_aligned, total);
        }
        __syncthreads();
    }
}

/// Adds d_out * scale * dropout to the selected rows of d_table; see ScatterGrid.
template <bool is_shifted, class T>
__global__ void __launch_bounds__(ScatterGrid::threads, 1) scatter_rows(AskedRows asked,
                                                                        ScatterGrid grid,
                                                                        std::int64_t width,
                                                                        bool is_aligned,
                                                                        const T* d_out,
                                                                        DropoutView dropout,
                                                                        float scale,
                                                                        float* d_table) {
    auto& memory = *reinterpret_cast<ScatterMemory*>(block_memory());
    const auto at = blockIdx.x % grid.slices * ScatterGrid::columns + threadIdx.x % warp_size * pack;
    const auto columns = static_cast<int>(width - at < 0 ? 0 : width - at < pack ? width - at : pack);
    const ScatterPart<T> of{.asked = asked,
                            .group = static_cast<std::uint32_t>(blockIdx.x / grid.slices),
                            .groups = static_cast<std::uint32_t>(grid.groups),
                            .width = width,
                            .at = at,
                            .columns = columns,
                            .is_aligned = is_aligned && columns > 0,
                            .d_out = d_out,
                            .scale = scale,
                            .d_table = d_table};
    const DropoutPacks<is_shifted> dropped{dropout};
    for (std::int64_t window = 0; window < asked.count; window += ScatterGrid::window) {
        if (threadIdx.x == 0) {
            memory.num_keys = 0;
            memory.num_long_ranges = 0;
        }
        __syncthreads();
        const auto tokens =
            asked.count - window < ScatterGrid::window ? asked.count - window : ScatterGrid::window;
        list_tokens(of, window, static_cast<int>(tokens), memory);
        __syncthreads();
        const int count = memory.num_keys;
        if (count > 0) {
            sort_keys(memory, count);
            add_short_ranges(of, dropped, window, count, memory);
            __syncthreads();
            add_long_ranges(of, dropped, window, memory);
        }
        __syncthreads();
    }
}

}  // namespace ziggurat::kernels::cuda
