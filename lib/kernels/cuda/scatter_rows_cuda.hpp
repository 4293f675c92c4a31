/// Scatter-add of gradient rows to table rows; only embedding_cuda.cu includes it.
///
/// A block owns some rows of the table and some columns. For a fixed number of consecutive tokens at a time,
/// it lists the tokens of its rows in order and sorts the list by table row. One warp adds each range of
/// equal rows. All warps add it if it is long; then the warps' sums are added in order.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/cuda/dropout_cuda.hpp"
#include "kernels/cuda/row_packs_cuda.hpp"
#include "kernels/cuda/rows_cuda.hpp"
#include "layout/cuda_workspaces.hpp"

namespace ziggurat::kernels::cuda {

/// Table rows that consecutive tokens select.
struct AskedRows {
    const std::int32_t* indices;
    std::int64_t count;
    std::int64_t first;  ///< first table row of this slice
    std::int64_t rows;   ///< table rows in this slice
};

/// Division of a call into blocks.
///
/// There are about the number that an H100 runs at once, because each block reads all indices.
struct ScatterGrid {
    static constexpr int threads = 256;
    static constexpr int warps = threads / warp_size;
    static constexpr int columns = warp_size * pack;  ///< of a block

    std::int64_t slices;      ///< of the columns
    std::int64_t table_rows;  ///< of a block

    ScatterGrid(std::int64_t rows, std::int64_t width) : slices{(width + columns - 1) / columns} {
        constexpr std::int64_t wanted = 2 * layout::CudaWorkspaces::multiprocessors;
        const auto per_slice = std::max<std::int64_t>(1, wanted / slices);
        table_rows = std::clamp<std::int64_t>((rows + per_slice - 1) / per_slice, 1, max_table_rows);
        blocks = slices * ((rows + table_rows - 1) / table_rows);
    }
    std::int64_t blocks;

    static constexpr std::int64_t max_table_rows = 1 << 18;
};

/// The list of a block.
///
/// It has one key for each token: the table row in the high bits, the token's position in the low bits.
///
/// It has room for `size` consecutive tokens.
struct ScatterList {
    static constexpr int size = 4096;
    static constexpr int index_bits = 12;
    static constexpr std::uint32_t none = 0xffffffffu;

    std::uint32_t keys[size];
    std::int32_t rows[size];  ///< rows of the gradient, in order
    int of_warps[ScatterGrid::warps];
    float sums[ScatterGrid::warps][pack][warp_size];  ///< of a range that all warps add
};
static_assert(ScatterGrid::max_table_rows < (1 << (32 - ScatterList::index_bits)));

/// Sorts the first `count` keys in ascending order. All threads of the block must call it.
__device__ inline void sort_keys(std::uint32_t* keys, int count) {
    int size = 32;
    while (size < count) {
        size *= 2;
    }
    for (int i = count + static_cast<int>(threadIdx.x); i < size; i += ScatterGrid::threads) {
        keys[i] = ScatterList::none;
    }
    for (int width = 2; width <= size; width *= 2) {
        for (int distance = width / 2; distance > 0; distance /= 2) {
            __syncthreads();
            for (int n = static_cast<int>(threadIdx.x); n < size / 2; n += ScatterGrid::threads) {
                const int low = n / distance * 2 * distance + n % distance;
                const int high = low + distance;
                const bool ascends = (low & width) == 0;
                const auto a = keys[low], b = keys[high];
                if ((a > b) == ascends) {
                    keys[low] = b;
                    keys[high] = a;
                }
            }
        }
    }
    __syncthreads();
}

/// Rows of the gradient that a warp loads before it adds the first one.
template <class T>
inline constexpr int rows_in_flight = sizeof(T) == 2 ? 12 : 8;

/// Gradients of the listed tokens, for the columns of this lane.
template <class T>
struct ScatteredRows {
    const T* d_out;
    const DropoutPacks& dropped;
    float scale;
    std::int64_t width, at;
    int columns;
    bool is_aligned;

    /// Adds scale * dropout(d_out) of the tokens [begin, end) of the sorted list, in order.
    __device__ void add(const ScatterList& list, int begin, int end, float (&total)[pack]) const {
        constexpr int in_flight = rows_in_flight<T>;
        for (int first = begin; first < end; first += in_flight) {
            RawPack<T> raw[in_flight];
            std::int32_t token[in_flight];
#pragma unroll
            for (int m = 0; m < in_flight; ++m) {
                if (first + m < end) {
                    token[m] = list.rows[list.keys[first + m] & (ScatterList::size - 1)];
                    raw[m] = load_raw(d_out + token[m] * width + at, columns, is_aligned);
                }
            }
#pragma unroll
            for (int m = 0; m < in_flight; ++m) {
                if (first + m < end) {
                    float value[pack], factor[pack];
                    raw[m].to_floats(value);
                    if (dropped.drops()) {
                        dropped.factors(token[m], at, factor);
                    }
#pragma unroll
                    for (int i = 0; i < pack; ++i) {
                        total[i] += scale * (dropped.drops() ? value[i] * factor[i] : value[i]);
                    }
                }
            }
        }
    }
};

/// Adds the listed tokens to their table rows. All threads of the block must call it.
///
/// \pre the list is sorted
template <class T>
__device__ void add_listed(
    ScatterList& list, int count, const ScatteredRows<T>& from, float* d_table, std::int64_t first_row) {
    constexpr int long_run = 4 * rows_in_flight<T> * ScatterGrid::warps;
    const int warp = static_cast<int>(threadIdx.x) / warp_size;
    const int lane = static_cast<int>(threadIdx.x) % warp_size;
    const auto row_of = [&](int i) { return list.keys[i] >> ScatterList::index_bits; };
    int run = 0;  // number of this range of equal rows
    for (int begin = 0; begin < count; ++run) {
        const auto row = row_of(begin);
        // Finds the end of the range with steps that double and then halve.
        int end = begin + 1;
        int step = 1;
        while (end + step <= count && row_of(end + step - 1) == row) {
            end += step;
            step *= 2;
        }
        for (; step > 0; step /= 2) {
            if (end + step <= count && row_of(end + step - 1) == row) {
                end += step;
            }
        }
        float* const to = d_table + (first_row + row) * from.width + from.at;
        float total[pack];
        if (end - begin < long_run) {
            if (run % ScatterGrid::warps == warp) {
                load_some(static_cast<const float*>(to), from.columns, from.is_aligned, total);
                from.add(list, begin, end, total);
                store_some(to, from.columns, from.is_aligned, total);
            }
        } else {
#pragma unroll
            for (int i = 0; i < pack; ++i) {
                total[i] = 0;
            }
            const int length = end - begin;
            from.add(list, begin + length * warp / ScatterGrid::warps,
                     begin + length * (warp + 1) / ScatterGrid::warps, total);
#pragma unroll
            for (int i = 0; i < pack; ++i) {
                list.sums[warp][i][lane] = total[i];
            }
            __syncthreads();
            if (warp == 0) {
                load_some(static_cast<const float*>(to), from.columns, from.is_aligned, total);
                for (int of = 0; of < ScatterGrid::warps; ++of) {
#pragma unroll
                    for (int i = 0; i < pack; ++i) {
                        total[i] += list.sums[of][i][lane];
                    }
                }
                store_some(to, from.columns, from.is_aligned, total);
            }
            __syncthreads();
        }
        begin = end;
    }
}

/// One block for each part of the table's rows and each slice of columns.
template <class T>
__global__ void __launch_bounds__(ScatterGrid::threads, 2) scatter_rows(AskedRows asked,
                                                                        std::int64_t table_rows,
                                                                        std::int64_t slices,
                                                                        std::int64_t width,
                                                                        bool is_aligned,
                                                                        const T* d_out,
                                                                        DropoutView dropout,
                                                                        float scale,
                                                                        float* d_table) {
    __shared__ ScatterList list;
    constexpr int looks = 8;
    constexpr int of_warp = looks * warp_size;
    constexpr int of_block = of_warp * ScatterGrid::warps;
    static_assert(ScatterList::size % of_block == 0);
    const int warp = static_cast<int>(threadIdx.x) / warp_size;
    const int lane = static_cast<int>(threadIdx.x) % warp_size;
    const auto slice = blockIdx.x % slices;
    const auto first_row = blockIdx.x / slices * table_rows;
    const auto own_rows = first_row + table_rows < asked.rows ? table_rows : asked.rows - first_row;
    const auto first_index = asked.first + first_row;
    const auto end_index = first_index + own_rows;
    const auto at = slice * ScatterGrid::columns + lane * pack;
    const auto left = width - at;
    const int columns = static_cast<int>(left < 0 ? 0 : (left < pack ? left : pack));
    const DropoutPacks dropped{dropout};
    const ScatteredRows<T> from{d_out, dropped, scale, width, at, columns, is_aligned && columns > 0};

    int listed = 0;
    for (std::int64_t begin = 0; begin < asked.count; begin += of_block) {
        int row[looks];
        unsigned asking[looks];
        int found = 0;
#pragma unroll
        for (int look = 0; look < looks; ++look) {
            const auto token = begin + warp * of_warp + look * warp_size + lane;
            row[look] = -1;
            if (token < asked.count) {
                const std::int64_t index = asked.indices[token];
                row[look] =
                    index >= first_index && index < end_index ? static_cast<int>(index - first_index) : -1;
            }
        }
#pragma unroll
        for (int look = 0; look < looks; ++look) {
            asking[look] = __ballot_sync(all_lanes, row[look] >= 0);
            found += __popc(asking[look]);
        }
        if (lane == 0) {
            list.of_warps[warp] = found;
        }
        __syncthreads();
        int element_position = listed;
        for (int of = 0; of < ScatterGrid::warps; ++of) {
            element_position += of < warp ? list.of_warps[of] : 0;
            listed += list.of_warps[of];
        }
#pragma unroll
        for (int look = 0; look < looks; ++look) {
            if (asking[look] >> lane & 1U) {
                const int own = element_position + __popc(asking[look] & ((1U << lane) - 1));
                list.keys[own] = static_cast<std::uint32_t>(row[look]) << ScatterList::index_bits |
                                 static_cast<std::uint32_t>(own);
                list.rows[own] = static_cast<std::int32_t>(begin + warp * of_warp + look * warp_size + lane);
            }
            element_position += __popc(asking[look]);
        }
        // Lists end at fixed token numbers, so the bits of sums do not depend on the table rows in this
        // slice.
        const bool is_full = begin + of_block >= asked.count || (begin + of_block) % ScatterList::size == 0;
        if (listed > 0 && is_full) {
            sort_keys(list.keys, listed);
            add_listed(list, listed, from, d_table, first_row);
            listed = 0;
        }
        __syncthreads();  // all have read the counts and the list
    }
}

}  // namespace ziggurat::kernels::cuda
