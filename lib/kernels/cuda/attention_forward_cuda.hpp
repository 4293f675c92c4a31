/// Forward of attention; only attention_cuda.cu includes it.
#pragma once

#include "kernels/cuda/attention_tiles_cuda.hpp"

namespace ziggurat::kernels::cuda {

/// One block for each tile of queries of each head.
///
/// The last tiles attend to the most keys and start first.
template <class Tile, class T>
__global__ void __launch_bounds__(Tile::threads, 1)
    attend(AttentionArguments<T> of, std::int64_t heads, T* out, float* lse) {
    alignas(16) __shared__ float queries[Tile::queries * Tile::step];
    alignas(16) __shared__ float keys[Tile::keys * Tile::step];  // later holds the values
    __shared__ float weights[Tile::queries * Tile::scores_step];

    const auto batch = blockIdx.x % heads / of.shape.heads;
    const auto head = blockIdx.x % heads % of.shape.heads;
    const auto kv_head = head / of.group();
    const int seq = of.seq();
    const int tiles = (seq + Tile::queries - 1) / Tile::queries;
    const int first_query = (tiles - 1 - static_cast<int>(blockIdx.x / heads)) * Tile::queries;
    const int end_key = first_query + Tile::queries < seq ? first_query + Tile::queries : seq;
    const WeightDropout<Tile> dropout{of, batch, head};
    const float scale = of.scores.slope;

    load_tile<Tile, Tile::queries, false>(of.query(of.qkv, batch, head), first_query, seq, of.head_dim(),
                                          of.is_aligned, queries);
    float top[Tile::rows_each], total[Tile::rows_each], sums[Tile::rows_each][Tile::lines_each][4]{};
    int start[Tile::rows_each];
#pragma unroll
    for (int i = 0; i < Tile::rows_each; ++i) {
        top[i] = -1e30f;
        total[i] = 0;
        start[i] = of.first_key(batch, first_query + thread_y() + i * Tile::columns);
    }
    for (int key = of.first_key(batch, first_query) / Tile::keys * Tile::keys; key < end_key;
         key += Tile::keys) {
        __syncthreads();
        load_tile<Tile, Tile::keys, true>(of.key(of.qkv, batch, kv_head), key, seq, of.head_dim(),
                                          of.is_aligned, keys);
        __syncthreads();
        float scores[Tile::rows_each][Tile::keys_each];
        multiply<Tile>(queries, keys, scores);
        read_scores<Tile>(of.scores, scores);
        const int own_key = key + thread_x() * Tile::keys_each;
#pragma unroll
        for (int i = 0; i < Tile::rows_each; ++i) {
            const int row = thread_y() + i * Tile::columns;
            const int query = first_query + row;
            const auto sees = [&](int j) {
                return start[i] <= own_key + j && own_key + j <= query && own_key + j < seq;
            };
            float highest = top[i];
#pragma unroll
            for (int j = 0; j < Tile::keys_each; ++j) {
                highest = sees(j) ? fmaxf(highest, scores[i][j]) : highest;
            }
            highest = top_of_row(highest);
            const float pivot = highest * scale;
            const float rescale = exp2_not_large(top[i] * scale - pivot);
            top[i] = highest;
            total[i] *= rescale;
#pragma unroll
            for (int line = 0; line < Tile::lines_each; ++line) {
#pragma unroll
                for (int e = 0; e < 4; ++e) {
                    sums[i][line][e] *= rescale;
                }
            }
            float factor[Tile::keys_each];
            dropout.factors(query, own_key, factor);
#pragma unroll
            for (int j = 0; j < Tile::keys_each; ++j) {
                const float weight = sees(j) ? exp2_not_large(std::fma(scores[i][j], scale, -pivot)) : 0.0f;
                total[i] += weight;
                weights[row * Tile::scores_step + thread_x() + j * row_threads] =
                    float(T(weight * factor[j]));
            }
        }
        __syncthreads();
        load_tile<Tile, Tile::keys, true>(of.value(of.qkv, batch, kv_head), key, seq, of.head_dim(),
                                          of.is_aligned, keys);
        __syncthreads();
        accumulate<Tile, Tile::keys>(weights, Tile::scores_step, 1, keys, sums);
    }
#pragma unroll
    for (int i = 0; i < Tile::rows_each; ++i) {
        const int query = first_query + thread_y() + i * Tile::columns;
        const float sum = sum_of_row(total[i]);
        if (query < seq) {
            store_row<Tile>(sums[i], 1.0f / sum, of.head_dim(), of.output(out, batch, head).row(query));
            if (thread_x() == 0) {
                lse[of.lse(batch, head, query)] = top[i] * scale + std::log2(sum);
            }
        }
    }
}

}  // namespace ziggurat::kernels::cuda
