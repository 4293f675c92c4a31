/// Forward of attention; only attention_launch_cuda.hpp includes it.
#pragma once

#include "kernels/cuda/attention_tiles_cuda.hpp"

namespace ziggurat::kernels::cuda {

/// Results of a call: `out`, and `lse` in base 2.
template <class T>
struct AttentionResults {
    static constexpr bool merges = false;

    T* out;
    float* lse;

    /// Stores the thread's part of a row of a head.
    ///
    /// \param top, total  maximum and sum of the row's weights, in base 2
    template <class Tile, class View>
    __device__ void store(const View& of,
                          std::int64_t batch,
                          std::int64_t head,
                          int row,
                          float /*earlier*/,
                          float top,
                          float total,
                          const float (&sums)[Tile::lines_each][4]) const {
        store_row<Tile>(sums, 1.0f / total, of.head_dim(), of.output(out, batch, head), row);
        if (thread_x() == 0) {
            lse[of.lse(batch, head, row)] = top + std::log2(total);
        }
    }
};

/// One block for each tile of queries of each head.
template <class Tile, class View, class Results>
__global__ void __launch_bounds__(Tile::threads, 1) attend(View of, std::int64_t heads, Results results) {
    alignas(16) __shared__ float queries[Tile::queries * Tile::step];
    alignas(16) __shared__ float keys[Tile::keys * Tile::step];  // later holds the values
    __shared__ float weights[Tile::queries * Tile::scores_step];
    using T = typename View::Element;

    const auto batch = blockIdx.x % heads / of.shape.heads;
    const auto head = blockIdx.x % heads % of.shape.heads;
    const auto kv_head = head / of.group();
    const auto rows = of.queries_of_tile(static_cast<int>(blockIdx.x / heads), Tile::queries);
    const int last_row = (rows.begin + Tile::queries < rows.end ? rows.begin + Tile::queries : rows.end) - 1;
    const WeightDropout<Tile, View> dropout{of, batch, head};
    const float scale = of.scores.slope;

    load_tile<Tile, Tile::queries, false>(of.query(batch, head), rows.begin, rows.end, of.head_dim(),
                                          of.is_aligned, queries);
    float top[Tile::rows_each], total[Tile::rows_each], sums[Tile::rows_each][Tile::lines_each][4]{};
    int start[Tile::rows_each];
#pragma unroll
    for (int i = 0; i < Tile::rows_each; ++i) {
        top[i] = -1e30f;
        total[i] = 0;
        start[i] = of.first_key(batch, rows.begin + thread_y() + i * Tile::columns + rows.offset);
    }
    using Keys = KeyTiles<View, Tile::keys>;
    for (auto tile = Keys::first(of, batch, rows, last_row); tile.exists();
         tile = tile.next(of, batch, rows, last_row)) {
        const int key = tile.keys.begin;
        __syncthreads();
        load_tile<Tile, Tile::keys, true>(of.key(tile.part, batch, kv_head), key, of.key_end(), of.head_dim(),
                                          of.is_aligned, keys);
        __syncthreads();
        float scores[Tile::rows_each][Tile::keys_each];
        multiply<Tile>(queries, keys, scores);
        read_scores<Tile>(of.scores, scores);
        const int own_key = key + thread_x() * Tile::keys_each;
        const int own_position = own_key + tile.keys.offset;
#pragma unroll
        for (int i = 0; i < Tile::rows_each; ++i) {
            const int row = thread_y() + i * Tile::columns;
            const int query = rows.begin + row + rows.offset;
            const auto sees = [&](int j) {
                return start[i] <= own_position + j && own_position + j <= query &&
                       own_key + j < of.key_end();
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
            dropout.factors(query, own_position, factor);
#pragma unroll
            for (int j = 0; j < Tile::keys_each; ++j) {
                const float weight = sees(j) ? exp2_not_large(std::fma(scores[i][j], scale, -pivot)) : 0.0f;
                total[i] += weight;
                weights[row * Tile::scores_step + thread_x() + j * row_threads] =
                    float(T(weight * factor[j]));
            }
        }
        __syncthreads();
        load_tile<Tile, Tile::keys, true>(of.value(tile.part, batch, kv_head), key, of.key_end(),
                                          of.head_dim(), of.is_aligned, keys);
        __syncthreads();
        accumulate<Tile, Tile::keys>(weights, Tile::scores_step, 1, keys, sums);
    }
    float earlier[Tile::rows_each]{};
    if constexpr (Results::merges) {
#pragma unroll
        for (int i = 0; i < Tile::rows_each; ++i) {
            earlier[i] =
                results.earlier(of, batch, head, rows.begin + thread_y() + i * Tile::columns, rows.end);
        }
        __syncwarp();  // all threads of a row have read it before one stores
    }
#pragma unroll
    for (int i = 0; i < Tile::rows_each; ++i) {
        const int row = rows.begin + thread_y() + i * Tile::columns;
        const float sum = sum_of_row(total[i]);
        if (row < rows.end) {
            results.template store<Tile>(of, batch, head, row, earlier[i], top[i] * scale, sum, sums[i]);
        }
    }
}

}  // namespace ziggurat::kernels::cuda
