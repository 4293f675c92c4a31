/// Forward of attention on tensor cores; only attention_mma_launch_cuda.hpp includes it.
///
/// Source: Dao, "FlashAttention-2", 2023, algorithm 1, with a softmax in base 2.
#pragma once

#include <algorithm>

#include "kernels/cuda/attention_forward_cuda.hpp"
#include "kernels/cuda/attention_mma_tiles_cuda.hpp"

namespace ziggurat::kernels::cuda {

/// Elements of shared memory: queries, a tile of keys, a tile of values.
template <class Tile>
inline constexpr int forward_elements = Tile::row_elements + 2 * Tile::column_elements;

/// Running maximum and sum of one row's weights, in the four lanes of the row.
struct RowState {
    float top = -INFINITY;
    float total = 0;  ///< sum of this lane's columns
};

__device__ inline float max_of_lanes(float value) {
    value = fmaxf(value, __shfl_xor_sync(0xffffffffu, value, 1));
    return fmaxf(value, __shfl_xor_sync(0xffffffffu, value, 2));
}
__device__ inline float sum_of_lanes(float value) {
    value += __shfl_xor_sync(0xffffffffu, value, 1);
    return value + __shfl_xor_sync(0xffffffffu, value, 2);
}

/// Stores the results of a warp's rows.
///
/// \param first         the warp's first row in the sequence
/// \param tops, totals  of rows `group` and `group + 8` of each m tile: maximum score, to be multiplied by
///                      `scale`, and sum of weights
template <class Tile, class View>
__device__ void store_results(const View& of,
                              const AttentionResults<bfloat16>& results,
                              std::int64_t batch,
                              std::int64_t head,
                              int first,
                              int end,
                              float scale,
                              const float (&tops)[Tile::m_tiles][2],
                              const float (&totals)[Tile::m_tiles][2],
                              const FragmentC (&sums)[Tile::m_tiles][Tile::head_tiles],
                              const WarpLane& me) {
    float factors[Tile::m_tiles][2];
#pragma unroll
    for (int m = 0; m < Tile::m_tiles; ++m) {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            const int row = first + 16 * m + 8 * half + me.group;
            factors[m][half] = 1.0f / totals[m][half];
            if (me.pair == 0 && row < end) {
                results.lse[of.lse(batch, head, row)] = fmaf(tops[m][half], scale, log2f(totals[m][half]));
            }
        }
    }
    store_rows<Tile>(sums, factors, of.output(results.out, batch, head), first, end, of.head_dim(), me);
}

/// One block for each tile of queries of each head.
///
/// The last tiles attend to the most keys and start first.
template <class Tile, class View, class Results>
__global__ void __launch_bounds__(Tile::threads, Tile::min_blocks)
    attend_mma(View of, std::int64_t heads, Results results) {
    bfloat16* const queries = block_memory();
    bfloat16* const keys = queries + Tile::row_elements;
    bfloat16* const values = keys + Tile::column_elements;
    const WarpLane me;

    const auto batch = blockIdx.x % heads / of.shape.heads;
    const auto head = blockIdx.x % heads % of.shape.heads;
    const auto kv_head = head / of.group();
    const auto rows = of.queries_of_tile(static_cast<int>(blockIdx.x / heads), Tile::rows);
    const int last_row = std::min(rows.begin + Tile::rows, rows.end) - 1;
    const int own_row = rows.begin + me.warp * 16 * Tile::m_tiles;
    const int own_query = own_row + rows.offset;
    const float scale = of.scale * log2_of_e;
    // Some query of the tile does not attend to keys below the first key of the last query.
    const int masked_below = of.first_key(batch, last_row + rows.offset);

    auto tile = KeyTiles<View, Tile::columns>::first(of, batch, rows, last_row);
    start_tile<Tile, Tile::rows>(of.query(batch, head), rows.begin, rows.end, of.head_dim(), queries);
    if (!View::has_parts || tile.exists()) {
        start_tile<Tile, Tile::columns>(of.key(tile.part, batch, kv_head), tile.keys.begin, of.key_end(),
                                        of.head_dim(), keys);
    }
    commit_copies();

    FragmentC sums[Tile::m_tiles][Tile::head_tiles];
    clear(sums);
    RowState states[Tile::m_tiles][2];
    int start[Tile::m_tiles][2];
#pragma unroll
    for (int m = 0; m < Tile::m_tiles; ++m) {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            start[m][half] = of.first_key(batch, own_query + 16 * m + 8 * half + me.group);
        }
    }
    while (tile.exists()) {
        const int key = tile.position();
        wait_for_copies<0>();
        __syncthreads();  // the loads of keys are complete; all have read the previous values
        start_tile<Tile, Tile::columns>(of.value(tile.part, batch, kv_head), tile.keys.begin, of.key_end(),
                                        of.head_dim(), values);
        commit_copies();
        FragmentC scores[Tile::m_tiles][Tile::column_tiles];
        multiply_rows<Tile>(queries, me.warp * 16 * Tile::m_tiles, keys, scores, me);
        const int last_key = of.last_position(tile.keys);
        const bool is_masked = key + Tile::columns - 1 > std::min(own_query, last_key) || key < masked_below;
#pragma unroll
        for (int m = 0; m < Tile::m_tiles; ++m) {
#pragma unroll
            for (int half = 0; half < 2; ++half) {
                auto& row = states[m][half];
                const int query = std::min(own_query + 16 * m + 8 * half + me.group, last_key);
                float top = row.top;
#pragma unroll
                for (int n = 0; n < Tile::column_tiles; ++n) {
#pragma unroll
                    for (int e = 0; e < 2; ++e) {
                        auto& score = scores[m][n][2 * half + e];
                        const int at = key + 8 * n + 2 * me.pair + e;
                        if (is_masked && (at < start[m][half] || at > query)) {
                            score = -INFINITY;
                        }
                        top = fmaxf(top, score);
                    }
                }
                top = max_of_lanes(top);
                // A row that has attended to no key yet has weight 0 for its old sums and for this tile.
                const float pivot = top == -INFINITY ? 0.0f : top * scale;
                const float rescale = fast_exp2(fmaf(row.top, scale, -pivot));
                row.top = top;
                row.total *= rescale;
#pragma unroll
                for (int n = 0; n < Tile::head_tiles; ++n) {
                    sums[m][n][2 * half] *= rescale;
                    sums[m][n][2 * half + 1] *= rescale;
                }
#pragma unroll
                for (int n = 0; n < Tile::column_tiles; ++n) {
#pragma unroll
                    for (int e = 0; e < 2; ++e) {
                        auto& score = scores[m][n][2 * half + e];
                        score = fast_exp2(fmaf(score, scale, -pivot));
                        row.total += score;
                    }
                }
            }
        }
        tile = tile.next(of, batch, rows, last_row);
        wait_for_copies<0>();
        __syncthreads();  // the loads of values are complete; all have read the keys
        if (tile.exists()) {
            start_tile<Tile, Tile::columns>(of.key(tile.part, batch, kv_head), tile.keys.begin, of.key_end(),
                                            of.head_dim(), keys);
        }
        commit_copies();
        add_product<Tile>(scores, values, sums, me);
    }

    float tops[Tile::m_tiles][2], totals[Tile::m_tiles][2];
#pragma unroll
    for (int m = 0; m < Tile::m_tiles; ++m) {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            tops[m][half] = states[m][half].top;
            totals[m][half] = sum_of_lanes(states[m][half].total);
        }
    }
    store_results<Tile>(of, results, batch, head, own_row, rows.end, scale, tops, totals, sums, me);
}

}  // namespace ziggurat::kernels::cuda
