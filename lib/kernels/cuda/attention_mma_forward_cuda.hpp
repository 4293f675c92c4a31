/// Forward of attention on tensor cores; only attention_mma_cuda.cu includes it.
///
/// Source: Dao, "FlashAttention-2", 2023, algorithm 1, with a softmax in base 2.
#pragma once

#include <algorithm>

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

/// One block for each tile of queries of each head.
///
/// The last tiles attend to the most keys and start first.
template <class Tile>
__global__ void __launch_bounds__(Tile::threads, Tile::min_blocks)
    attend_mma(AttentionArguments<bfloat16> of, std::int64_t heads, bfloat16* out, float* lse) {
    bfloat16* const queries = block_memory();
    bfloat16* const keys = queries + Tile::row_elements;
    bfloat16* const values = keys + Tile::column_elements;
    const WarpLane me;

    const auto batch = blockIdx.x % heads / of.shape.heads;
    const auto head = blockIdx.x % heads % of.shape.heads;
    const auto kv_head = head / of.group();
    const int seq = of.seq();
    const int tiles = (seq + Tile::rows - 1) / Tile::rows;
    const int first_query = (tiles - 1 - static_cast<int>(blockIdx.x / heads)) * Tile::rows;
    const int last_query = std::min(first_query + Tile::rows, seq) - 1;
    const int own_query = first_query + me.warp * 16 * Tile::m_tiles;
    const float scale = of.scale * log2_of_e;
    const auto key_rows = of.key(of.qkv, batch, kv_head);
    const auto value_rows = of.value(of.qkv, batch, kv_head);
    // Some query of the tile does not attend to keys below the first key of the last query.
    const int masked_below = of.first_key(batch, last_query);

    int key = of.first_key(batch, first_query) / Tile::columns * Tile::columns;
    start_tile<Tile, Tile::rows>(of.query(of.qkv, batch, head), first_query, seq, of.head_dim(), queries);
    start_tile<Tile, Tile::columns>(key_rows, key, seq, of.head_dim(), keys);
    commit_copies();

    FragmentC sums[Tile::m_tiles][Tile::head_tiles];
    clear(sums);
    RowState rows[Tile::m_tiles][2];
    int start[Tile::m_tiles][2];
#pragma unroll
    for (int m = 0; m < Tile::m_tiles; ++m) {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            start[m][half] = of.first_key(batch, own_query + 16 * m + 8 * half + me.group);
        }
    }
    for (; key <= last_query; key += Tile::columns) {
        wait_for_copies<0>();
        __syncthreads();  // the loads of keys are complete; all have read the previous values
        start_tile<Tile, Tile::columns>(value_rows, key, seq, of.head_dim(), values);
        commit_copies();
        FragmentC scores[Tile::m_tiles][Tile::column_tiles];
        multiply_rows<Tile>(queries, me.warp * 16 * Tile::m_tiles, keys, scores, me);
        const bool is_masked = key + Tile::columns - 1 > own_query || key < masked_below;
#pragma unroll
        for (int m = 0; m < Tile::m_tiles; ++m) {
#pragma unroll
            for (int half = 0; half < 2; ++half) {
                auto& row = rows[m][half];
                const int query = own_query + 16 * m + 8 * half + me.group;
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
        wait_for_copies<0>();
        __syncthreads();  // the loads of values are complete; all have read the keys
        if (key + Tile::columns <= last_query) {
            start_tile<Tile, Tile::columns>(key_rows, key + Tile::columns, seq, of.head_dim(), keys);
        }
        commit_copies();
        add_product<Tile>(scores, values, sums, me);
    }

    float factors[Tile::m_tiles][2];
#pragma unroll
    for (int m = 0; m < Tile::m_tiles; ++m) {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            const auto& row = rows[m][half];
            const int query = own_query + 16 * m + 8 * half + me.group;
            const float total = sum_of_lanes(row.total);
            factors[m][half] = 1.0f / total;
            if (me.pair == 0 && query < seq) {
                lse[of.lse(batch, head, query)] = fmaf(row.top, scale, log2f(total));
            }
        }
    }
    store_rows<Tile>(sums, factors, of.output(out, batch, head), own_query, seq, of.head_dim(), me);
}

}  // namespace ziggurat::kernels::cuda
