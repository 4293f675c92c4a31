/// Backward of attention on tensor cores; only attention_mma_launch_cuda.hpp includes it.
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
template <int lanes, class View>
__global__ void __launch_bounds__(256) sum_output_products(
    View of, std::int64_t count, const bfloat16* out, const bfloat16* d_out, float* deltas) {
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
        deltas[of.lse(row / of.rows(), index % of.shape.heads, static_cast<int>(row % of.rows()))] = sum;
    }
}

/// Elements of shared memory: queries and d_out, then two tiles of keys and two of values.
template <class Tile>
inline constexpr int query_gradient_elements = 2 * Tile::row_elements + 4 * Tile::column_elements;

/// One block for each tile of queries of each head.
template <class Tile, class View, class Gradients>
__global__ void __launch_bounds__(Tile::threads, Tile::min_blocks)
    attention_query_gradients_mma(View of, std::int64_t heads, Gradients with, const float* deltas) {
    bfloat16* const queries = block_memory();
    bfloat16* const d_out = queries + Tile::row_elements;
    bfloat16* const keys = d_out + Tile::row_elements;
    bfloat16* const values = keys + 2 * Tile::column_elements;
    const WarpLane me;

    const auto batch = blockIdx.x % heads / of.shape.heads;
    const auto head = blockIdx.x % heads % of.shape.heads;
    const auto kv_head = head / of.group();
    const auto rows = of.queries_of_tile(static_cast<int>(blockIdx.x / heads), Tile::rows);
    const int last_row = std::min(rows.begin + Tile::rows, rows.end) - 1;
    const int warp_row = me.warp * 16 * Tile::m_tiles;
    const int own_row = rows.begin + warp_row;
    const int own_query = own_row + rows.offset;
    const float scale = of.scale * log2_of_e;
    const int masked_below = of.first_key(batch, last_row + rows.offset);
    const auto start_keys = [&](const auto& tile, int into) {
        start_tile<Tile, Tile::columns>(of.key(tile.part, batch, kv_head), tile.keys.begin, of.key_end(),
                                        of.head_dim(), keys + into * Tile::column_elements);
        start_tile<Tile, Tile::columns>(of.value(tile.part, batch, kv_head), tile.keys.begin, of.key_end(),
                                        of.head_dim(), values + into * Tile::column_elements);
    };

    auto tile = KeyTiles<View, Tile::columns>::first(of, batch, rows, last_row);
    start_tile<Tile, Tile::rows>(of.query(batch, head), rows.begin, rows.end, of.head_dim(), queries);
    start_tile<Tile, Tile::rows>(of.output(with.d_out, batch, head), rows.begin, rows.end, of.head_dim(),
                                 d_out);
    if (!View::has_parts || tile.exists()) {
        start_keys(tile, 0);
    }
    commit_copies();

    FragmentC sums[Tile::m_tiles][Tile::head_tiles];
    clear(sums);
    int start[Tile::m_tiles][2];
    float pivot[Tile::m_tiles][2], delta[Tile::m_tiles][2];
#pragma unroll
    for (int m = 0; m < Tile::m_tiles; ++m) {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            const int row = own_row + 16 * m + 8 * half + me.group;
            start[m][half] = of.first_key(batch, row + rows.offset);
            pivot[m][half] = row < rows.end ? with.lse[of.lse(batch, head, row)] : 0.0f;
            delta[m][half] = row < rows.end ? deltas[of.lse(batch, head, row)] : 0.0f;
        }
    }
    for (int now = 0; tile.exists(); tile = tile.next(of, batch, rows, last_row), now ^= 1) {
        const int key = tile.position();
        const int last_key = of.last_position(tile.keys);
        wait_for_copies<0>();
        __syncthreads();  // the loads of this tile are complete; all have read the previous tile
        if (const auto next = tile.next(of, batch, rows, last_row); next.exists()) {
            start_keys(next, now ^ 1);
        }
        commit_copies();
        FragmentC scores[Tile::m_tiles][Tile::column_tiles], d_weights[Tile::m_tiles][Tile::column_tiles];
        multiply_rows<Tile>(queries, warp_row, keys + now * Tile::column_elements, scores, me);
        multiply_rows<Tile>(d_out, warp_row, values + now * Tile::column_elements, d_weights, me);
        const bool is_masked = key + Tile::columns - 1 > std::min(own_query, last_key) || key < masked_below;
#pragma unroll
        for (int m = 0; m < Tile::m_tiles; ++m) {
#pragma unroll
            for (int n = 0; n < Tile::column_tiles; ++n) {
#pragma unroll
                for (int e = 0; e < 4; ++e) {
                    const int half = e / 2;
                    const int at = key + 8 * n + 2 * me.pair + e % 2;
                    const int query = std::min(own_query + 16 * m + 8 * half + me.group, last_key);
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
    store_rows<Tile>(sums, factors, with.d_query(of, batch, head), own_row, rows.end, of.head_dim(), me);
}

/// Tiles of queries that may attend to a tile of keys, in ascending order.
///
/// Queries whose first key is after the last key attend to none of these keys. First keys never fall, so the
/// same holds for all queries after them.
template <class View, int step>
class QueryTiles {
  public:
    __device__ QueryTiles(const View& of,
                          std::int64_t batch,
                          const typename View::KeyTile& keys,
                          int last_key) {
        first_ = of.queries_met(0, keys, step);
        first_count_ = count_tiles(of, batch, first_, last_key);
        if constexpr (View::has_parts) {
            second_ = of.queries_met(1, keys, step);
            second_count_ = count_tiles(of, batch, second_, last_key);
        }
    }

    __device__ int count() const { return View::has_parts ? first_count_ + second_count_ : first_count_; }
    /// Returns the rows of a tile and of the part after it.
    __device__ typename View::Rows operator[](int tile) const {
        const bool is_second = View::has_parts && tile >= first_count_;
        auto rows = is_second ? second_ : first_;
        rows.begin += (is_second ? tile - first_count_ : tile) * step;
        return rows;
    }

  private:
    __device__ static int count_tiles(const View& of,
                                      std::int64_t batch,
                                      const typename View::Rows& rows,
                                      int last_key) {
        int tiles = View::has_parts ? 0 : 1, tiles_after = (rows.end - rows.begin + step - 1) / step;
        while (tiles < tiles_after) {
            const int middle = (tiles + tiles_after) / 2;
            if (of.first_key(batch, rows.begin + middle * step + rows.offset) <= last_key) {
                tiles = middle + 1;
            } else {
                tiles_after = middle;
            }
        }
        return tiles;
    }

    typename View::Rows first_, second_{};
    int first_count_, second_count_ = 0;
};

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
template <class Tile, class View, class Gradients>
__global__ void __launch_bounds__(Tile::threads, Tile::min_blocks)
    attention_key_gradients_mma(View of, std::int64_t kv_heads, Gradients with, const float* deltas) {
    bfloat16* const keys = block_memory();
    bfloat16* const values = keys + Tile::row_elements;
    bfloat16* const queries = values + Tile::row_elements;
    bfloat16* const d_out = queries + 2 * Tile::column_elements;
    auto* const pivots = reinterpret_cast<float*>(d_out + 2 * Tile::column_elements);
    auto* const row_deltas = pivots + 2 * Tile::columns;
    const WarpLane me;

    const auto batch = blockIdx.x % kv_heads / of.shape.kv_heads;
    const auto kv_head = blockIdx.x % kv_heads % of.shape.kv_heads;
    const auto own = of.keys_of_tile(static_cast<int>(blockIdx.x / kv_heads), Tile::rows);
    const int first_key = own.keys.begin;
    const int last_key = std::min(first_key + Tile::rows, own.keys.end) - 1 + own.keys.offset;
    const int own_row = me.warp * 16 * Tile::m_tiles;
    const int own_key = first_key + own_row + own.keys.offset;
    const float scale = of.scale * log2_of_e;
    const QueryTiles<View, Tile::columns> tiles_of_head{of, batch, own, last_key};
    const auto group = of.group();
    const int all_tiles = static_cast<int>(group) * tiles_of_head.count();

    const auto start_queries = [&](int tile, int into) {
        const auto head = kv_head * group + tile / tiles_of_head.count();
        const auto rows = tiles_of_head[tile % tiles_of_head.count()];
        start_tile<Tile, Tile::columns>(of.query(batch, head), rows.begin, rows.end, of.head_dim(),
                                        queries + into * Tile::column_elements);
        start_tile<Tile, Tile::columns>(of.output(with.d_out, batch, head), rows.begin, rows.end,
                                        of.head_dim(), d_out + into * Tile::column_elements);
        for (int i = static_cast<int>(threadIdx.x); i < Tile::columns; i += Tile::threads) {
            const bool exists = rows.begin + i < rows.end;
            const auto at = exists ? of.lse(batch, head, rows.begin + i) : 0;
            copy_async<4>(pivots + into * Tile::columns + i, with.lse + at, exists);
            copy_async<4>(row_deltas + into * Tile::columns + i, deltas + at, exists);
        }
    };
    start_tile<Tile, Tile::rows>(of.key(own.part, batch, kv_head), first_key, own.keys.end, of.head_dim(),
                                 keys);
    start_tile<Tile, Tile::rows>(of.value(own.part, batch, kv_head), first_key, own.keys.end, of.head_dim(),
                                 values);
    if (!View::has_parts || all_tiles > 0) {
        start_queries(0, 0);
    }
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
        const auto rows = tiles_of_head[tile % tiles_of_head.count()];
        const int query = rows.begin + rows.offset;
        const int end = rows.end + rows.offset;
        const bfloat16* const q = queries + now * Tile::column_elements;
        const bfloat16* const g = d_out + now * Tile::column_elements;
        FragmentC weights[Tile::m_tiles][Tile::column_tiles];
        multiply_rows<Tile>(keys, own_row, q, weights, me);
        const int tile_end = query + Tile::columns - 1;
        const bool is_masked = tile_end >= end || own_key + 16 * Tile::m_tiles - 1 > query ||
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
                        const int key = own_key + 16 * m + 8 * half + me.group;
                        weight = fast_exp2(fmaf(weight, scale, -pivot));
                        if (is_masked && (key < start || key > at || at >= end)) {
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
    const int stored = first_key + own_row;
    store_rows<Tile>(d_keys, scales, with.d_key(of, own.part, batch, kv_head), stored, own.keys.end,
                     of.head_dim(), me);
    store_rows<Tile>(d_values, ones, with.d_value(of, own.part, batch, kv_head), stored, own.keys.end,
                     of.head_dim(), me);
}

}  // namespace ziggurat::kernels::cuda
