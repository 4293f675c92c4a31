/// Tiles of attention in bfloat16 on tensor cores; only attention_mma_launch_cuda.hpp includes it.
///
/// A warp computes `m_tiles` times 16 rows of the left factor and holds their sums in registers. Rows of a
/// tile in shared memory are `step` elements apart, an odd multiple of 16 bytes, so eight rows are in
/// different banks.
#pragma once

#include <cstdint>

#include "kernels/cuda/attention_tiles_cuda.hpp"
#include "kernels/cuda/fragments_cuda.hpp"

namespace ziggurat::kernels::cuda {

/// Compile-time sizes of one kernel.
///
/// \tparam head_     channels, padded with zeros to a multiple of 16
/// \tparam rows_     of the stationary tile: queries, or keys for the gradients of keys and values
/// \tparam columns_  of the tiles that the kernel iterates over
template <int head_, int warps_, int m_tiles_, int columns_, int min_blocks_>
struct MmaTile {
    static constexpr int head = head_;
    static constexpr int warps = warps_;
    static constexpr int m_tiles = m_tiles_;
    static constexpr int threads = 32 * warps;
    static constexpr int rows = 16 * m_tiles * warps;
    static constexpr int columns = columns_;
    static constexpr int min_blocks = min_blocks_;  ///< resident on a multiprocessor
    static constexpr int step = head + 8;
    static constexpr int k_steps = head / 16;          ///< of products over channels
    static constexpr int column_steps = columns / 16;  ///< of products over columns
    static constexpr int column_tiles = columns / 8;   ///< of scores
    static constexpr int head_tiles = head / 8;        ///< of sums over columns
    static_assert(head % 16 == 0 && columns % 16 == 0);

    static constexpr int row_elements = rows * step;
    static constexpr int column_elements = columns * step;
};

/// This thread's position in its warp.
///
/// Fragments give it rows `group`, `group + 8` and columns from `2 * pair`.
struct WarpLane {
    int lane = static_cast<int>(threadIdx.x) % 32;
    int warp = static_cast<int>(threadIdx.x) / 32;
    int group = lane / 4;
    int pair = lane % 4;
};

/// Operand of one 8-byte load or store.
struct alignas(8) TwoFloats {
    float first = 0, second = 0;
};

/// Starts to copy `rows` rows of a head from row `first` into a tile.
///
/// Rows after the end of the sequence and channels after the end of the head become 0.
template <class Tile, int rows>
__device__ void start_tile(HeadRows<const bfloat16> from, int first, int seq, int head_dim, bfloat16* tile) {
    constexpr int chunk = 8;  // elements in 16 bytes
    constexpr int chunks = Tile::head / chunk;
    static_assert(rows * chunks % Tile::threads == 0);
#pragma unroll
    for (int n = 0; n < rows * chunks / Tile::threads; ++n) {
        const int i = static_cast<int>(threadIdx.x) + n * Tile::threads;
        const int row = i / chunks;
        const int column = i % chunks * chunk;
        const bool exists = first + row < seq && column < head_dim;
        copy_async<16>(tile + row * Tile::step + column, exists ? from.row(first + row) + column : from.first,
                       exists);
    }
}

/// Loads rows [row, row + 16) and channels [16 k, 16 k + 16) of a tile as a left factor.
template <class Tile>
__device__ void load_left(FragmentA& to, const bfloat16* tile, int row, int k, const WarpLane& me) {
    load_matrices(to, tile + (row + me.lane % 16) * Tile::step + 16 * k + me.lane / 16 * 8);
}

/// Loads the transpose of rows [row, row + 16) of a tile, channels [16 k, 16 k + 16).
///
/// The result is the right factors of two neighbouring tiles of 8 columns, to[0..1] and to[2..3].
template <class Tile>
__device__ void load_right_by_rows(
    std::uint32_t (&to)[4], const bfloat16* tile, int row, int k, const WarpLane& me) {
    const int matrix = me.lane / 8;
    load_matrices(to, tile + (row + matrix / 2 * 8 + me.lane % 8) * Tile::step + 16 * k + matrix % 2 * 8);
}

/// Loads rows [row, row + 16) of a tile and channels [16 n, 16 n + 16).
///
/// The result is the right factors of two neighbouring tiles of 8 channels, to[0..1] and to[2..3].
template <class Tile>
__device__ void load_right(std::uint32_t (&to)[4], const bfloat16* tile, int row, int n, const WarpLane& me) {
    const int matrix = me.lane / 8;
    load_transposed_matrices(
        to, tile + (row + matrix % 2 * 8 + me.lane % 8) * Tile::step + 16 * n + matrix / 2 * 8);
}

template <int count, int tiles>
__device__ void clear(FragmentC (&sums)[count][tiles]) {
#pragma unroll
    for (int m = 0; m < count; ++m) {
#pragma unroll
        for (int n = 0; n < tiles; ++n) {
#pragma unroll
            for (int e = 0; e < 4; ++e) {
                sums[m][n][e] = 0;
            }
        }
    }
}

/// Computes scores = left right^T over the channels: the warp's rows of `left`, all rows of `right`.
///
/// \param row  the warp's first row of `left`
template <class Tile>
__device__ void multiply_rows(const bfloat16* left,
                              int row,
                              const bfloat16* right,
                              FragmentC (&scores)[Tile::m_tiles][Tile::column_tiles],
                              const WarpLane& me) {
    clear(scores);
#pragma unroll
    for (int k = 0; k < Tile::k_steps; ++k) {
        FragmentA a[Tile::m_tiles];
#pragma unroll
        for (int m = 0; m < Tile::m_tiles; ++m) {
            load_left<Tile>(a[m], left, row + 16 * m, k, me);
        }
#pragma unroll
        for (int n = 0; n < Tile::column_tiles; n += 2) {
            std::uint32_t b[4];
            load_right_by_rows<Tile>(b, right, 8 * n, k, me);
#pragma unroll
            for (int m = 0; m < Tile::m_tiles; ++m) {
                multiply_add(scores[m][n], a[m], b[0], b[1]);
                multiply_add(scores[m][n + 1], a[m], b[2], b[3]);
            }
        }
    }
}

/// Computes sums += weights right over the columns; `weights` are rounded to bfloat16 in registers.
template <class Tile>
__device__ void add_product(const FragmentC (&weights)[Tile::m_tiles][Tile::column_tiles],
                            const bfloat16* right,
                            FragmentC (&sums)[Tile::m_tiles][Tile::head_tiles],
                            const WarpLane& me) {
#pragma unroll
    for (int k = 0; k < Tile::column_steps; ++k) {
        FragmentA a[Tile::m_tiles];
#pragma unroll
        for (int m = 0; m < Tile::m_tiles; ++m) {
            a[m][0] = pack_pair(weights[m][2 * k][0], weights[m][2 * k][1]);
            a[m][1] = pack_pair(weights[m][2 * k][2], weights[m][2 * k][3]);
            a[m][2] = pack_pair(weights[m][2 * k + 1][0], weights[m][2 * k + 1][1]);
            a[m][3] = pack_pair(weights[m][2 * k + 1][2], weights[m][2 * k + 1][3]);
        }
#pragma unroll
        for (int n = 0; n < Tile::head_tiles; n += 2) {
            std::uint32_t b[4];
            load_right<Tile>(b, right, 16 * k, n / 2, me);
#pragma unroll
            for (int m = 0; m < Tile::m_tiles; ++m) {
                multiply_add(sums[m][n], a[m], b[0], b[1]);
                multiply_add(sums[m][n + 1], a[m], b[2], b[3]);
            }
        }
    }
}

/// Stores the warp's rows of sums, each multiplied by its factor.
///
/// \param first    the warp's first row in the sequence
/// \param factors  of rows `group` and `group + 8` of each m tile
template <class Tile>
__device__ void store_rows(const FragmentC (&sums)[Tile::m_tiles][Tile::head_tiles],
                           const float (&factors)[Tile::m_tiles][2],
                           HeadRows<bfloat16> to,
                           int first,
                           int seq,
                           int head_dim,
                           const WarpLane& me) {
#pragma unroll
    for (int m = 0; m < Tile::m_tiles; ++m) {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            const int row = first + 16 * m + 8 * half + me.group;
            if (row >= seq) {
                continue;
            }
            bfloat16* const at = to.row(row);
#pragma unroll
            for (int n = 0; n < Tile::head_tiles; ++n) {
                const int column = 8 * n + 2 * me.pair;
                if (column < head_dim) {
                    *reinterpret_cast<std::uint32_t*>(at + column) = pack_pair(
                        sums[m][n][2 * half] * factors[m][half], sums[m][n][2 * half + 1] * factors[m][half]);
                }
            }
        }
    }
}

/// Computes the warp's rows of `to`: keep * row + factor * sums.
///
/// A row is not read if its `keep` is 0.
///
/// \param factors, keeps  of rows `group` and `group + 8` of each m tile; a factor of 0 leaves its row as it is
template <class Tile>
__device__ void merge_rows(const FragmentC (&sums)[Tile::m_tiles][Tile::head_tiles],
                           const float (&factors)[Tile::m_tiles][2],
                           const float (&keeps)[Tile::m_tiles][2],
                           HeadRows<float> to,
                           int first,
                           int end,
                           int head_dim,
                           const WarpLane& me) {
#pragma unroll
    for (int m = 0; m < Tile::m_tiles; ++m) {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            const int row = first + 16 * m + 8 * half + me.group;
            if (row >= end || factors[m][half] == 0) {
                continue;
            }
            float* const at = to.row(row);
            const float factor = factors[m][half], keep = keeps[m][half];
#pragma unroll
            for (int n = 0; n < Tile::head_tiles; ++n) {
                const int column = 8 * n + 2 * me.pair;
                if (column < head_dim) {
                    auto& pair = *reinterpret_cast<TwoFloats*>(at + column);
                    const auto before = keep == 0 ? TwoFloats{} : pair;
                    pair = {fmaf(sums[m][n][2 * half], factor, keep * before.first),
                            fmaf(sums[m][n][2 * half + 1], factor, keep * before.second)};
                }
            }
        }
    }
}

/// Stores the warp's rows of sums, or adds them to `to`, each multiplied by its factor.
template <class Tile>
__device__ void store_rows(const FragmentC (&sums)[Tile::m_tiles][Tile::head_tiles],
                           const float (&factors)[Tile::m_tiles][2],
                           const SumRows& to,
                           int first,
                           int end,
                           int head_dim,
                           const WarpLane& me) {
    float keeps[Tile::m_tiles][2];
#pragma unroll
    for (int m = 0; m < Tile::m_tiles; ++m) {
        keeps[m][0] = keeps[m][1] = to.adds ? 1.0f : 0.0f;
    }
    merge_rows<Tile>(sums, factors, keeps, to.rows, first, end, head_dim, me);
}

}  // namespace ziggurat::kernels::cuda
