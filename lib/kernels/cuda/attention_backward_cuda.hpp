/// Backward of attention: gradients of queries, and of keys and values.
///
/// Only attention_cuda.cu includes it. Each gradient is summed by the one block that owns its rows, so the
/// order of sums is fixed. The two kernels share no intermediate results: both recompute the scores and the
/// row sums of out * d_out.
#pragma once

#include "kernels/cuda/attention_tiles_cuda.hpp"

namespace ziggurat::kernels::cuda {

template <class T>
struct AttentionGradients {
    const T* out;
    const T* d_out;
    const float* lse;
    T* d_qkv;
};

/// Sums the rows of out * d_out into `products`, with the threads of each row.
template <class Tile, class T>
__device__ void sum_products(
    HeadRows<const T> out, int first_query, int seq, int head_dim, const float* d_out, float* products) {
#pragma unroll
    for (int i = 0; i < Tile::rows_each; ++i) {
        const int row = thread_y() + i * Tile::columns;
        float sum = 0;
        if (first_query + row < seq) {
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
template <class Tile, class T>
__device__ void weigh(const AttentionArguments<T>& of,
                      const WeightDropout<Tile>& dropout,
                      std::int64_t batch,
                      std::int64_t head,
                      int first_query,
                      int first_key,
                      const float* lse,
                      const float* products,
                      const float (&scores)[Tile::rows_each][Tile::keys_each],
                      const float (&d_weights)[Tile::rows_each][Tile::keys_each],
                      float* weights,  // null: not requested
                      float* d_scores) {
    const int own_key = first_key + thread_x() * Tile::keys_each;
    const float scale = of.scores.slope;
#pragma unroll
    for (int i = 0; i < Tile::rows_each; ++i) {
        const int row = thread_y() + i * Tile::columns;
        const int query = first_query + row;
        const bool exists = query < of.seq();
        const int start = of.first_key(batch, query);
        const float pivot = exists ? lse[of.lse(batch, head, query)] : 0.0f;
        float factor[Tile::keys_each];
        dropout.factors(query, own_key, factor);
#pragma unroll
        for (int j = 0; j < Tile::keys_each; ++j) {
            const bool sees = exists && start <= own_key + j && own_key + j <= query;
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
template <class Tile, class T>
__global__ void __launch_bounds__(Tile::threads, 1)
    attention_query_gradients(AttentionArguments<T> of, std::int64_t heads, AttentionGradients<T> with) {
    alignas(16) __shared__ float queries[Tile::queries * Tile::step];
    alignas(16) __shared__ float d_out[Tile::queries * Tile::step];
    alignas(16) __shared__ float keys[Tile::keys * Tile::step];  // first holds the values
    __shared__ float d_scores[Tile::queries * Tile::scores_step];
    __shared__ float products[Tile::queries];

    const auto batch = blockIdx.x % heads / of.shape.heads;
    const auto head = blockIdx.x % heads % of.shape.heads;
    const auto kv_head = head / of.group();
    const int seq = of.seq();
    const int tiles = (seq + Tile::queries - 1) / Tile::queries;
    const int first_query = (tiles - 1 - static_cast<int>(blockIdx.x / heads)) * Tile::queries;
    const int end_key = first_query + Tile::queries < seq ? first_query + Tile::queries : seq;
    const WeightDropout<Tile> dropout{of, batch, head};

    load_tile<Tile, Tile::queries, false>(of.query(of.qkv, batch, head), first_query, seq, of.head_dim(),
                                          of.is_aligned, queries);
    load_tile<Tile, Tile::queries, false>(of.output(with.d_out, batch, head), first_query, seq, of.head_dim(),
                                          of.is_aligned, d_out);
    __syncthreads();
    sum_products<Tile>(of.output(with.out, batch, head), first_query, seq, of.head_dim(), d_out, products);

    float sums[Tile::rows_each][Tile::lines_each][4]{};
    for (int key = of.first_key(batch, first_query) / Tile::keys * Tile::keys; key < end_key;
         key += Tile::keys) {
        __syncthreads();
        load_tile<Tile, Tile::keys, true>(of.value(of.qkv, batch, kv_head), key, seq, of.head_dim(),
                                          of.is_aligned, keys);
        __syncthreads();
        float d_weights[Tile::rows_each][Tile::keys_each];
        multiply<Tile>(d_out, keys, d_weights);
        __syncthreads();
        load_tile<Tile, Tile::keys, true>(of.key(of.qkv, batch, kv_head), key, seq, of.head_dim(),
                                          of.is_aligned, keys);
        __syncthreads();
        float scores[Tile::rows_each][Tile::keys_each];
        multiply<Tile>(queries, keys, scores);
        weigh<Tile>(of, dropout, batch, head, first_query, key, with.lse, products, scores, d_weights,
                    nullptr, d_scores);
        __syncthreads();
        accumulate<Tile, Tile::keys>(d_scores, Tile::scores_step, 1, keys, sums);
    }
#pragma unroll
    for (int i = 0; i < Tile::rows_each; ++i) {
        const int query = first_query + thread_y() + i * Tile::columns;
        if (query < seq) {
            store_row<Tile>(sums[i], of.scale, of.head_dim(), of.query(with.d_qkv, batch, head).row(query));
        }
    }
}

/// One block for each tile of keys of each key head.
///
/// It adds the query heads of the group in ascending order, and within a head the queries in ascending order.
template <class Tile, class T>
__global__ void __launch_bounds__(Tile::threads, 1)
    attention_key_gradients(AttentionArguments<T> of, std::int64_t kv_heads, AttentionGradients<T> with) {
    alignas(16) __shared__ float keys[Tile::keys * Tile::step];
    alignas(16) __shared__ float values[Tile::keys * Tile::step];
    alignas(16) __shared__ float queries[Tile::queries * Tile::step];
    alignas(16) __shared__ float d_out[Tile::queries * Tile::step];
    __shared__ float weights[Tile::queries * Tile::scores_step];
    __shared__ float d_scores[Tile::queries * Tile::scores_step];
    __shared__ float products[Tile::queries];

    const auto batch = blockIdx.x % kv_heads / of.shape.kv_heads;
    const auto kv_head = blockIdx.x % kv_heads % of.shape.kv_heads;
    const int seq = of.seq();
    const int first_key = static_cast<int>(blockIdx.x / kv_heads) * Tile::keys;
    const int last_key = first_key + Tile::keys - 1;

    load_tile<Tile, Tile::keys, true>(of.key(of.qkv, batch, kv_head), first_key, seq, of.head_dim(),
                                      of.is_aligned, keys);
    load_tile<Tile, Tile::keys, true>(of.value(of.qkv, batch, kv_head), first_key, seq, of.head_dim(),
                                      of.is_aligned, values);
    float d_keys[Tile::key_rows_each][Tile::lines_each][4]{};
    float d_values[Tile::key_rows_each][Tile::lines_each][4]{};
    for (auto head = kv_head * of.group(); head < (kv_head + 1) * of.group(); ++head) {
        const WeightDropout<Tile> dropout{of, batch, head};
        for (int query = first_key / Tile::queries * Tile::queries;
             query < seq && of.first_key(batch, query) <= last_key; query += Tile::queries) {
            __syncthreads();
            load_tile<Tile, Tile::queries, false>(of.query(of.qkv, batch, head), query, seq, of.head_dim(),
                                                  of.is_aligned, queries);
            load_tile<Tile, Tile::queries, false>(of.output(with.d_out, batch, head), query, seq,
                                                  of.head_dim(), of.is_aligned, d_out);
            __syncthreads();
            sum_products<Tile>(of.output(with.out, batch, head), query, seq, of.head_dim(), d_out, products);
            float scores[Tile::rows_each][Tile::keys_each], d_weights[Tile::rows_each][Tile::keys_each];
            multiply<Tile>(queries, keys, scores);
            multiply<Tile>(d_out, values, d_weights);
            __syncthreads();
            weigh<Tile>(of, dropout, batch, head, query, first_key, with.lse, products, scores, d_weights,
                        weights, d_scores);
            __syncthreads();
            accumulate<Tile, Tile::queries>(weights, 1, Tile::scores_step, d_out, d_values);
            accumulate<Tile, Tile::queries>(d_scores, 1, Tile::scores_step, queries, d_keys);
        }
    }
#pragma unroll
    for (int i = 0; i < Tile::key_rows_each; ++i) {
        const int key = first_key + Tile::key_of_row(thread_y() + i * Tile::columns);
        if (key < seq) {
            store_row<Tile>(d_keys[i], of.scale, of.head_dim(), of.key(with.d_qkv, batch, kv_head).row(key));
            store_row<Tile>(d_values[i], 1.0f, of.head_dim(), of.value(with.d_qkv, batch, kv_head).row(key));
        }
    }
}

}  // namespace ziggurat::kernels::cuda
