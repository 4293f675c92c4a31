/// Backward of attention: gradients of queries, and of keys and values.
///
/// Only attention_launch_cuda.hpp includes it. Each gradient is summed by the one block that owns its rows,
/// so the order of sums is fixed. The two kernels share no intermediate results: both recompute the scores
/// and the row sums of out * d_out.
#pragma once

#include "kernels/cuda/attention_tiles_cuda.hpp"

namespace ziggurat::kernels::cuda {

template <class T>
struct AttentionGradients {
    const T* out;
    const T* d_out;
    const float* lse;
    T* d_qkv;

    /// Returns the rows that gradients of queries, keys and values are stored to.
    template <class View>
    __device__ HeadRows<T> d_query(const View& of, std::int64_t batch, std::int64_t head) const {
        return of.of(d_qkv, batch, head);
    }
    template <class View>
    __device__ HeadRows<T> d_key(const View& of,
                                 int /*part*/,
                                 std::int64_t batch,
                                 std::int64_t kv_head) const {
        return of.of(d_qkv, batch, of.shape.heads + kv_head);
    }
    template <class View>
    __device__ HeadRows<T> d_value(const View& of,
                                   int /*part*/,
                                   std::int64_t batch,
                                   std::int64_t kv_head) const {
        return of.of(d_qkv, batch, of.shape.heads + of.shape.kv_heads + kv_head);
    }
};

/// Sums the rows of out * d_out into `products`, with the threads of each row.
template <class Tile, class T>
__device__ void sum_products(
    HeadRows<const T> out, int first_query, int end, int head_dim, const float* d_out, float* products) {
#pragma unroll
    for (int i = 0; i < Tile::rows_each; ++i) {
        const int row = thread_y() + i * Tile::columns;
        float sum = 0;
        if (first_query + row < end) {
            const T* from = out.row(first_query + row);
            for (int column = thread_x(); column < head_dim; column += row_threads) {
                sum = std::fma(float(from[column]), d_out[row * Tile::step + column], sum);
            }
        }
        sum = sum_of_row(sum);
        if (thread_x() == 0) {
            products[row] = sum;
        }
    }
}

/// Computes the weights and score gradients of the thread's rows and keys.
///
/// Inputs are the scores and the products of d_out and values.
template <class Tile, class View>
__device__ void weigh(const View& of,
                      const WeightDropout<Tile, View>& dropout,
                      std::int64_t batch,
                      std::int64_t head,
                      const typename View::Rows& queries,  // from the tile's first
                      const typename View::Rows& keys,     // from the tile's first
                      const float* lse,
                      const float* products,
                      const float (&scores)[Tile::rows_each][Tile::keys_each],
                      const float (&d_weights)[Tile::rows_each][Tile::keys_each],
                      float* weights,  // null: not requested
                      float* d_scores) {
    using T = typename View::Element;
    const int own_key = keys.begin + thread_x() * Tile::keys_each;
    const int own_position = own_key + keys.offset;
    const float scale = of.scores.slope;
#pragma unroll
    for (int i = 0; i < Tile::rows_each; ++i) {
        const int row = thread_y() + i * Tile::columns;
        const int query = queries.begin + row;
        const int position = query + queries.offset;
        const bool exists = query < queries.end;
        const int start = of.first_key(batch, position);
        const float pivot = exists ? lse[of.lse(batch, head, query)] : 0.0f;
        float factor[Tile::keys_each];
        dropout.factors(position, own_position, factor);
#pragma unroll
        for (int j = 0; j < Tile::keys_each; ++j) {
            const bool sees = exists && start <= own_position + j && own_position + j <= position &&
                              (!View::has_parts || own_key + j < of.key_end());
            const float score = of.scores.read(scores[i][j]);
            const float weight = sees ? exp2_not_large(std::fma(score, scale, -pivot)) : 0.0f;
            const int at = row * Tile::scores_step + thread_x() + j * row_threads;
            if (weights != nullptr) {
                weights[at] = float(T(weight * factor[j]));
            }
            const float d_score = weight * std::fma(d_weights[i][j], factor[j], -products[row]);
            d_scores[at] = sees ? d_score * of.scores.derivative(score) : 0.0f;
        }
    }
}

/// One block for each tile of queries of each head.
template <class Tile, class View, class Gradients>
__global__ void __launch_bounds__(Tile::threads, 1)
    attention_query_gradients(View of, std::int64_t heads, Gradients with) {
    alignas(16) __shared__ float queries[Tile::queries * Tile::step];
    alignas(16) __shared__ float d_out[Tile::queries * Tile::step];
    alignas(16) __shared__ float keys[Tile::keys * Tile::step];  // first holds the values
    __shared__ float d_scores[Tile::queries * Tile::scores_step];
    __shared__ float products[Tile::queries];

    const auto batch = blockIdx.x % heads / of.shape.heads;
    const auto head = blockIdx.x % heads % of.shape.heads;
    const auto kv_head = head / of.group();
    const auto rows = of.queries_of_tile(static_cast<int>(blockIdx.x / heads), Tile::queries);
    const int last_row = (rows.begin + Tile::queries < rows.end ? rows.begin + Tile::queries : rows.end) - 1;
    const WeightDropout<Tile, View> dropout{of, batch, head};

    load_tile<Tile, Tile::queries, false>(of.query(batch, head), rows.begin, rows.end, of.head_dim(),
                                          of.is_aligned, queries);
    load_tile<Tile, Tile::queries, false>(of.output(with.d_out, batch, head), rows.begin, rows.end,
                                          of.head_dim(), of.is_aligned, d_out);
    __syncthreads();
    sum_products<Tile>(of.output(with.out, batch, head), rows.begin, rows.end, of.head_dim(), d_out,
                       products);

    float sums[Tile::rows_each][Tile::lines_each][4]{};
    using Keys = KeyTiles<View, Tile::keys>;
    for (auto tile = Keys::first(of, batch, rows, last_row); tile.exists();
         tile = tile.next(of, batch, rows, last_row)) {
        const int key = tile.keys.begin;
        __syncthreads();
        load_tile<Tile, Tile::keys, true>(of.value(tile.part, batch, kv_head), key, of.key_end(),
                                          of.head_dim(), of.is_aligned, keys);
        __syncthreads();
        float d_weights[Tile::rows_each][Tile::keys_each];
        multiply<Tile>(d_out, keys, d_weights);
        __syncthreads();
        load_tile<Tile, Tile::keys, true>(of.key(tile.part, batch, kv_head), key, of.key_end(), of.head_dim(),
                                          of.is_aligned, keys);
        __syncthreads();
        float scores[Tile::rows_each][Tile::keys_each];
        multiply<Tile>(queries, keys, scores);
        weigh<Tile>(of, dropout, batch, head, rows, tile.keys, with.lse, products, scores, d_weights, nullptr,
                    d_scores);
        __syncthreads();
        accumulate<Tile, Tile::keys>(d_scores, Tile::scores_step, 1, keys, sums);
    }
#pragma unroll
    for (int i = 0; i < Tile::rows_each; ++i) {
        const int row = rows.begin + thread_y() + i * Tile::columns;
        if (row < rows.end) {
            store_row<Tile>(sums[i], of.scale, of.head_dim(), with.d_query(of, batch, head), row);
        }
    }
}

/// One block for each tile of keys of each key head.
///
/// It adds the query heads of the group in ascending order, and within a head the queries in ascending order.
template <class Tile, class View, class Gradients>
__global__ void __launch_bounds__(Tile::threads, 1)
    attention_key_gradients(View of, std::int64_t kv_heads, Gradients with) {
    alignas(16) __shared__ float keys[Tile::keys * Tile::step];
    alignas(16) __shared__ float values[Tile::keys * Tile::step];
    alignas(16) __shared__ float queries[Tile::queries * Tile::step];
    alignas(16) __shared__ float d_out[Tile::queries * Tile::step];
    __shared__ float weights[Tile::queries * Tile::scores_step];
    __shared__ float d_scores[Tile::queries * Tile::scores_step];
    __shared__ float products[Tile::queries];

    const auto batch = blockIdx.x % kv_heads / of.shape.kv_heads;
    const auto kv_head = blockIdx.x % kv_heads % of.shape.kv_heads;
    const auto own = of.keys_of_tile(static_cast<int>(blockIdx.x / kv_heads), Tile::keys);
    const int first_key = own.keys.begin;
    const int last_position = first_key + own.keys.offset + Tile::keys - 1;

    load_tile<Tile, Tile::keys, true>(of.key(own.part, batch, kv_head), first_key, own.keys.end,
                                      of.head_dim(), of.is_aligned, keys);
    load_tile<Tile, Tile::keys, true>(of.value(own.part, batch, kv_head), first_key, own.keys.end,
                                      of.head_dim(), of.is_aligned, values);
    float d_keys[Tile::key_rows_each][Tile::lines_each][4]{};
    float d_values[Tile::key_rows_each][Tile::lines_each][4]{};
    for (auto head = kv_head * of.group(); head < (kv_head + 1) * of.group(); ++head) {
        const WeightDropout<Tile, View> dropout{of, batch, head};
        for (int part = 0; part < of.query_parts(); ++part) {
            for (auto rows = of.queries_met(part, own, Tile::queries);
                 rows.begin < rows.end && of.first_key(batch, rows.begin + rows.offset) <= last_position;
                 rows.begin += Tile::queries) {
                __syncthreads();
                load_tile<Tile, Tile::queries, false>(of.query(batch, head), rows.begin, rows.end,
                                                      of.head_dim(), of.is_aligned, queries);
                load_tile<Tile, Tile::queries, false>(of.output(with.d_out, batch, head), rows.begin,
                                                      rows.end, of.head_dim(), of.is_aligned, d_out);
                __syncthreads();
                sum_products<Tile>(of.output(with.out, batch, head), rows.begin, rows.end, of.head_dim(),
                                   d_out, products);
                float scores[Tile::rows_each][Tile::keys_each], d_weights[Tile::rows_each][Tile::keys_each];
                multiply<Tile>(queries, keys, scores);
                multiply<Tile>(d_out, values, d_weights);
                __syncthreads();
                weigh<Tile>(of, dropout, batch, head, rows, own.keys, with.lse, products, scores, d_weights,
                            weights, d_scores);
                __syncthreads();
                accumulate<Tile, Tile::queries>(weights, 1, Tile::scores_step, d_out, d_values);
                accumulate<Tile, Tile::queries>(d_scores, 1, Tile::scores_step, queries, d_keys);
            }
        }
    }
#pragma unroll
    for (int i = 0; i < Tile::key_rows_each; ++i) {
        const int key = first_key + Tile::key_of_row(thread_y() + i * Tile::columns);
        if (key < own.keys.end) {
            store_row<Tile>(d_keys[i], of.scale, of.head_dim(), with.d_key(of, own.part, batch, kv_head),
                            key);
            store_row<Tile>(d_values[i], 1.0f, of.head_dim(), with.d_value(of, own.part, batch, kv_head),
                            key);
        }
    }
}

}  // namespace ziggurat::kernels::cuda
