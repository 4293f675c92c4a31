/// Backward of attention on tensor cores; only attention_mma_cuda.cu includes it.
///
/// Each gradient is summed by the one warp that owns its rows, so the order of sums is fixed without atomics.
/// Both kernels recompute the scores: seven products, where one kernel with atomics needs five.
#pragma once

#include "kernels/cuda/attention_backward_cuda.hpp"
#include "kernels/cuda/attention_mma_forward_cuda.hpp"

namespace ziggurat::kernels::cuda {

/// Computes deltas[batch, head, query] = the row's sum of out * d_out.
///
/// Each row of each head has `lanes` neighbouring threads with one pack of channels each.
template <int lanes>
__global__ void __launch_bounds__(256) sum_output_products(AttentionArguments<bfloat16> of,
                                                           std::int64_t count,
                                                           const bfloat16* out,
                                                           const bfloat16* d_out,
                                                           float* deltas) {
    const auto index = thread_of_grid() / lanes;  // heads of one row are neighbours in memory
    const int channel = static_cast<int>(threadIdx.x) % lanes * pack;
    float sum = 0;
    if (index < count && channel < of.head_dim()) {
        const auto at = index * of.head_dim() + channel;
        const auto a = load_raw(out + at, pack, true);
        const auto b = load_raw(d_out + at, pack, true);
#pragma unroll
        for (int i = 0; i < pack; ++i) {
            sum = fmaf(a[i], b[i], sum);
        }
    }
#pragma unroll
    for (int distance = lanes / 2; distance > 0; distance /= 2) {
        sum += __shfl_xor_sync(0xffffffffu, sum, distance);
    }
    if (index < count && channel == 0) {
        const auto row = index / of.shape.heads;
        deltas[of.lse(row / of.shape.seq, index % of.shape.heads, static_cast<int>(row % of.shape.seq))] =
            sum;
    }
}

/// Elements of shared memory: queries and d_out, then two tiles of keys and two of values.
template <class Tile>
inline constexpr int query_gradient_elements = 2 * Tile::row_elements + 4 * Tile::column_elements;

/// One block for each tile of queries of each head.
template <class Tile>
__global__ void __launch_bounds__(Tile::threads, Tile::min_blocks)
    attention_query_gradients_mma(AttentionArguments<bfloat16> of,
                                  std::int64_t heads,
                                  AttentionGradients<bfloat16> with,
                                  const float* deltas) {
    bfloat16* const queries = block_memory();
    bfloat16* const d_out = queries + Tile::row_elements;
    bfloat16* const keys = d_out + Tile::row_elements;
    bfloat16* const values = keys + 2 * Tile::column_elements;
    const WarpLane me;

    const auto batch = blockIdx.x % heads / of.shape.heads;
    const auto head = blockIdx.x % heads % of.shape.heads;
    const auto kv_head = head / of.group();
    const int seq = of.seq();
    const int tiles = (seq + Tile::rows - 1) / Tile::rows;
    const int first_query = (tiles - 1 - static_cast<int>(blockIdx.x / heads)) * Tile::rows;
    const int last_query = std::min(first_query + Tile::rows, seq) - 1;
    const int own_row = me.warp * 16 * Tile::m_tiles;
    const int own_query = first_query + own_row;
    const float scale = of.scale * log2_of_e;
    const auto key_rows = of.key(of.qkv, batch, kv_head);
    const auto value_rows = of.value(of.qkv, batch, kv_head);
    const int masked_below = of.first_key(batch, last_query);

    int key = of.first_key(batch, first_query) / Tile::columns * Tile::columns;
    start_tile<Tile, Tile::rows>(of.query(of.qkv, batch, head), first_query, seq, of.head_dim(), queries);
    start_tile<Tile, Tile::rows>(of.output(with.d_out, batch, head), first_query, seq, of.head_dim(), d_out);
    start_tile<Tile, Tile::columns>(key_rows, key, seq, of.head_dim(), keys);
    start_tile<Tile, Tile::columns>(value_rows, key, seq, of.head_dim(), values);
    commit_copies();

    FragmentC sums[Tile::m_tiles][Tile::head_tiles];
    clear(sums);
    int start[Tile::m_tiles][2];
    float pivot[Tile::m_tiles][2], delta[Tile::m_tiles][2];
#pragma unroll
    for (int m = 0; m < Tile::m_tiles; ++m) {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            const int query = own_query + 16 * m + 8 * half + me.group;
            start[m][half] = of.first_key(batch, query);
            pivot[m][half] = query < seq ? with.lse[of.lse(batch, head, query)] : 0.0f;
            delta[m][half] = query < seq ? deltas[of.lse(batch, head, query)] : 0.0f;
        }
    }
    for (int now = 0; key <= last_query; key += Tile::columns, now ^= 1) {
        wait_for_copies<0>();
        __syncthreads();  // the loads of this tile are complete; all have read the previous tile
        if (key + Tile::columns <= last_query) {
            start_tile<Tile, Tile::columns>(key_rows, key + Tile::columns, seq, of.head_dim(),
                                            keys + (now ^ 1) * Tile::column_elements);
            start_tile<Tile, Tile::columns>(value_rows, key + Tile::columns, seq, of.head_dim(),
                                            values + (now ^ 1) * Tile::column_elements);
        }
        commit_copies();
        FragmentC scores[Tile::m_tiles][Tile::column_tiles], d_weights[Tile::m_tiles][Tile::column_tiles];
        multiply_rows<Tile>(queries, own_row, keys + now * Tile::column_elements, scores, me);
        multiply_rows<Tile>(d_out, own_row, values + now * Tile::column_elements, d_weights, me);
        const bool is_masked = key + Tile::columns - 1 > own_query || key < masked_below;
#pragma unroll
        for (int m = 0; m < Tile::m_tiles; ++m) {
#pragma unroll
            for (int n = 0; n < Tile::column_tiles; ++n) {
#pragma unroll
                for (int e = 0; e < 4; ++e) {
                    const int half = e / 2;
                    const int at = key + 8 * n + 2 * me.pair + e % 2;
                    const int query = own_query + 16 * m + 8 * half + me.group;
                    float weight = fast_exp2(fmaf(scores[m][n][e], scale, -pivot[m][half]));
                    if (is_masked && (at < start[m][half] || at > query)) {
                        weight = 0;
                    }
                    scores[m][n][e] = weight * (d_weights[m][n][e] - delta[m][half]);
                }
            }
        }
        add_product<Tile>(scores, keys + now * Tile::column_elements, sums, me);
    }
    float factors[Tile::m_tiles][2];
#pragma unroll
    for (int m = 0; m < Tile::m_tiles; ++m) {
        factors[m][0] = factors[m][1] = of.scale;
    }
    store_rows<Tile>(sums, factors, of.query(with.d_qkv, batch, head), own_query, seq, of.head_dim(), me);
}

/// Elements of shared memory: keys and values, two tiles of queries, and two tiles of d_out.
///
/// For each of these tiles it also holds the logarithms and deltas.
template <class Tile>
inline constexpr int key_gradient_elements =
    2 * Tile::row_elements + 4 * Tile::column_elements + 8 * Tile::columns;

/// One block for each tile of keys of each key head.
///
/// It adds the query heads of the group in ascending order, and within a head the queries in ascending order.
/// Scores are transposed: keys are rows.
template <class Tile>
__global__ void __launch_bounds__(Tile::threads, Tile::min_blocks)
    attention_key_gradients_mma(AttentionArguments<bfloat16> of,
                                std::int64_t kv_heads,
                                AttentionGradients<bfloat16> with,
                                const float* deltas) {
    bfloat16* const keys = block_memory();
    bfloat16* const values = keys + Tile::row_elements;
    bfloat16* const queries = values + Tile::row_elements;
    bfloat16* const d_out = queries + 2 * Tile::column_elements;
    auto* const pivots = reinterpret_cast<float*>(d_out + 2 * Tile::column_elements);
    auto* const row_deltas = pivots + 2 * Tile::columns;
    const WarpLane me;

    const auto batch = blockIdx.x % kv_heads / of.shape.kv_heads;
    const auto kv_head = blockIdx.x % kv_heads % of.shape.kv_heads;
    const int seq = of.seq();
    const int first_key = static_cast<int>(blockIdx.x / kv_heads) * Tile::rows;
    const int last_key = std::min(first_key + Tile::rows, seq) - 1;
    const int own_row = me.warp * 16 * Tile::m_tiles;
    const int own_key = first_key + own_row;
    const float scale = of.scale * log2_of_e;
    const int first_query = first_key / Tile::columns * Tile::columns;
    // Queries whose first key is after the last key attend to none of these keys. First keys never fall, so
    // the same holds for all queries after them.
    int tiles_of_head = 1, tiles_after = (seq - first_query + Tile::columns - 1) / Tile::columns;
    while (tiles_of_head < tiles_after) {
        const int middle = (tiles_of_head + tiles_after) / 2;
        if (of.first_key(batch, first_query + middle * Tile::columns) <= last_key) {
            tiles_of_head = middle + 1;
        } else {
            tiles_after = middle;
        }
    }
    const auto group = of.group();
    const int all_tiles = static_cast<int>(group) * tiles_of_head;

    const auto start_queries = [&](int tile, int into) {
        const auto head = kv_head * group + tile / tiles_of_head;
        const int query = first_query + tile % tiles_of_head * Tile::columns;
        start_tile<Tile, Tile::columns>(of.query(of.qkv, batch, head), query, seq, of.head_dim(),
                                        queries + into * Tile::column_elements);
        start_tile<Tile, Tile::columns>(of.output(with.d_out, batch, head), query, seq, of.head_dim(),
                                        d_out + into * Tile::column_elements);
        for (int i = static_cast<int>(threadIdx.x); i < Tile::columns; i += Tile::threads) {
            const bool exists = query + i < seq;
            const auto at = exists ? of.lse(batch, head, query + i) : 0;
            copy_async<4>(pivots + into * Tile::columns + i, with.lse + at, exists);
            copy_async<4>(row_deltas + into * Tile::columns + i, deltas + at, exists);
        }
    };
    start_tile<Tile, Tile::rows>(of.key(of.qkv, batch, kv_head), first_key, seq, of.head_dim(), keys);
    start_tile<Tile, Tile::rows>(of.value(of.qkv, batch, kv_head), first_key, seq, of.head_dim(), values);
    start_queries(0, 0);
    commit_copies();

    FragmentC d_keys[Tile::m_tiles][Tile::head_tiles], d_values[Tile::m_tiles][Tile::head_tiles];
    clear(d_keys);
    clear(d_values);
    for (int tile = 0; tile < all_tiles; ++tile) {
        const int now = tile % 2;
        wait_for_copies<0>();
        __syncthreads();  // the loads of this tile are complete; all have read the previous tile
        if (tile + 1 < all_tiles) {
            start_queries(tile + 1, now ^ 1);
        }
        commit_copies();
        const int query = first_query + tile % tiles_of_head * Tile::columns;
        const bfloat16* const q = queries + now * Tile::column_elements;
        const bfloat16* const g = d_out + now * Tile::column_elements;
        FragmentC weights[Tile::m_tiles][Tile::column_tiles];
        multiply_rows<Tile>(keys, own_row, q, weights, me);
        const int tile_end = query + Tile::columns - 1;
        const bool is_masked = tile_end >= seq || own_key + 16 * Tile::m_tiles - 1 > query ||
                               of.first_key(batch, tile_end) > own_key;
#pragma unroll
        for (int n = 0; n < Tile::column_tiles; ++n) {
#pragma unroll
            for (int e = 0; e < 2; ++e) {
                const int column = 8 * n + 2 * me.pair + e;
                const int at = query + column;
                const float pivot = pivots[now * Tile::columns + column];
                const int start = is_masked ? of.first_key(batch, at) : 0;
#pragma unroll
                for (int m = 0; m < Tile::m_tiles; ++m) {
#pragma unroll
                    for (int half = 0; half < 2; ++half) {
                        auto& weight = weights[m][n][2 * half + e];
                        const int own = own_key + 16 * m + 8 * half + me.group;
                        weight = fast_exp2(fmaf(weight, scale, -pivot));
                        if (is_masked && (own < start || own > at || at >= seq)) {
                            weight = 0;
                        }
                    }
                }
            }
        }
        add_product<Tile>(weights, g, d_values, me);
        FragmentC d_weights[Tile::m_tiles][Tile::column_tiles];
        multiply_rows<Tile>(values, own_row, g, d_weights, me);
#pragma unroll
        for (int n = 0; n < Tile::column_tiles; ++n) {
#pragma unroll
            for (int e = 0; e < 2; ++e) {
                const float delta = row_deltas[now * Tile::columns + 8 * n + 2 * me.pair + e];
#pragma unroll
                for (int m = 0; m < Tile::m_tiles; ++m) {
#pragma unroll
                    for (int half = 0; half < 2; ++half) {
                        auto& weight = weights[m][n][2 * half + e];
                        weight *= d_weights[m][n][2 * half + e] - delta;
                    }
                }
            }
        }
        add_product<Tile>(weights, q, d_keys, me);
    }
    float ones[Tile::m_tiles][2], scales[Tile::m_tiles][2];
#pragma unroll
    for (int m = 0; m < Tile::m_tiles; ++m) {
        ones[m][0] = ones[m][1] = 1;
        scales[m][0] = scales[m][1] = of.scale;
    }
    store_rows<Tile>(d_keys, scales, of.key(with.d_qkv, batch, kv_head), own_key, seq, of.head_dim(), me);
    store_rows<Tile>(d_values, ones, of.value(with.d_qkv, batch, kv_head), own_key, seq, of.head_dim(), me);
}

}  // namespace ziggurat::kernels::cuda
