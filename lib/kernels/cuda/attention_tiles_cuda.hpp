/// Tiles of attention: positions of heads, and products of tiles in shared memory.
///
/// Only *_cuda.cu files include it. A block of eight times `columns` threads computes a tile of scores.
/// Thread (x, y) has the rows y, y + columns, ... of the left factor, and `keys_each` neighbouring keys, so
/// it can compute their dropout together. In shared memory, keys are permuted so that eight neighbouring
/// threads read eight neighbouring rows.
#pragma once

#include <cstdint>

#include "kernels/attention.hpp"
#include "kernels/cuda/launch_cuda.hpp"
#include "kernels/cuda/row_packs_cuda.hpp"
#include "kernels/element/dropout.hpp"
#include "kernels/element/softcap.hpp"
#include "kernels/element/vector_math.hpp"
#include "tensor/tensor_ref.hpp"

namespace ziggurat::kernels::cuda {

/// Number of threads that share a row.
inline constexpr int row_threads = 8;

/// Compile-time sizes: queries and keys of a tile, and the maximum head size, a multiple of 32.
template <int queries_, int keys_, int head_>
struct AttentionTile {
    static constexpr int queries = queries_;
    static constexpr int keys = keys_;
    static constexpr int head = head_;
    static constexpr int columns = queries < 16 ? queries : 16;
    static constexpr int threads = row_threads * columns;
    static constexpr int step = head + 4;         ///< distance between rows of a head's tile
    static constexpr int scores_step = keys + 1;  ///< distance between rows of a tile of scores
    static constexpr int rows_each = queries / columns;
    static constexpr int keys_each = keys / row_threads;
    static constexpr int key_rows_each = keys / columns;  ///< if keys are the left factor
    static constexpr int lines_each = head / (4 * row_threads);
    static_assert(queries % columns == 0 && keys % row_threads == 0 && keys % columns == 0 && head % 32 == 0);

    /// Returns the row of a tile that holds key `key`, and the key in row `row`.
    __device__ static int row_of_key(int key) { return key % keys_each * row_threads + key / keys_each; }
    __device__ static int key_of_row(int row) { return row % row_threads * keys_each + row / row_threads; }
};

__device__ inline int thread_x() {
    return static_cast<int>(threadIdx.x) % row_threads;
}
__device__ inline int thread_y() {
    return static_cast<int>(threadIdx.x) / row_threads;
}

/// Rows of one head, `step` elements apart.
template <class T>
struct HeadRows {
    T* first;
    std::int64_t step;

    __device__ T* row(int row) const { return first + row * step; }
};

/// Rows of whole sequences, whose positions are their numbers.
struct WholeRows {
    int begin, end;
    static constexpr int offset = 0;  ///< of positions from rows
};

/// Returns the first key that a query attends to, between 0 and its position.
///
/// \param first_row  of the query's sequence in `starts`, which is nullptr if all are 0
__device__ inline int first_key_of(const std::int32_t* starts, std::int64_t first_row, int query, int seq) {
    if (starts == nullptr || query >= seq) {
        return 0;
    }
    const int start = starts[first_row + query];
    return start < 0 ? 0 : (start < query ? start : query);
}

/// The arguments of a call, and the position of each head in them.
///
/// Kernels are templates of this class and of RingArguments, which has the same members. There, a sequence
/// has several parts of queries and of keys, and rows are not positions.
template <class T>
struct AttentionArguments {
    using Element = T;
    using Rows = WholeRows;
    static constexpr bool has_parts = false;

    AttentionShape shape;
    const T* qkv;
    const std::int32_t* document_starts;  // null: all 0
    DropoutView dropout;
    float scale;
    SoftcapReader scores;  // with `scale` and the cap of the shape
    bool is_aligned;       // packs of all heads are aligned

    __host__ __device__ int seq() const { return static_cast<int>(shape.seq); }
    /// Returns the number of rows of a sequence.
    __host__ __device__ int rows() const { return seq(); }
    __device__ int head_dim() const { return static_cast<int>(shape.head_dim); }
    __device__ std::int64_t width() const { return (shape.heads + 2 * shape.kv_heads) * shape.head_dim; }
    __device__ std::int64_t group() const { return shape.heads / shape.kv_heads; }

    /// Returns head `index` of `in`: first the query heads, then the key heads, then the value heads.
    template <class U>
    __device__ HeadRows<U> of(U* in, std::int64_t batch, std::int64_t index) const {
        return {in + batch * shape.seq * width() + index * shape.head_dim, width()};
    }
    __device__ HeadRows<const T> query(std::int64_t batch, std::int64_t head) const {
        return of(qkv, batch, head);
    }
    __device__ HeadRows<const T> key(int /*part*/, std::int64_t batch, std::int64_t kv_head) const {
        return of(qkv, batch, shape.heads + kv_head);
    }
    __device__ HeadRows<const T> value(int /*part*/, std::int64_t batch, std::int64_t kv_head) const {
        return of(qkv, batch, shape.heads + shape.kv_heads + kv_head);
    }
    template <class U>
    __device__ HeadRows<U> output(U* in, std::int64_t batch, std::int64_t head) const {
        return {in + (batch * shape.seq * shape.heads + head) * shape.head_dim, shape.heads * shape.head_dim};
    }
    __device__ std::int64_t lse(std::int64_t batch, std::int64_t head, int query) const {
        return (batch * shape.heads + head) * shape.seq + query;
    }

    /// Returns the first key that a query attends to.
    ///
    /// A GPU cannot reject an invalid start, so it is clamped.
    __device__ int first_key(std::int64_t batch, int query) const {
        return first_key_of(document_starts, batch * shape.seq, query, seq());
    }

    /// Returns the number of tiles of `rows` queries, and of keys, of a head.
    std::int64_t query_tiles(int rows) const { return (shape.seq + rows - 1) / rows; }
    std::int64_t key_tiles(int rows) const { return query_tiles(rows); }

    /// Returns the queries of a tile of `rows` rows. The last tiles attend to the most keys and come first.
    __device__ Rows queries_of_tile(int tile, int rows) const {
        const int tiles = (seq() + rows - 1) / rows;
        return {(tiles - 1 - tile) * rows, seq()};
    }
    /// Returns the part of the keys of a tile of `rows` rows, and the keys.
    struct KeyTile {
        int part;
        Rows keys;
    };
    __device__ KeyTile keys_of_tile(int tile, int rows) const { return {0, {tile * rows, seq()}}; }

    __device__ static constexpr int key_parts() { return 1; }
    /// Returns the keys of a part that queries up to row `last` meet, from a multiple of `step` on.
    __device__ Rows
    keys_met(int /*part*/, std::int64_t batch, const Rows& queries, int last, int step) const {
        return {first_key(batch, queries.begin) / step * step, last + 1};
    }
    /// Returns the end of the rows of a part of keys.
    __device__ int key_end() const { return seq(); }
    /// Returns the position of the last key of a part. A query bounds the keys of whole sequences.
    __device__ static constexpr int last_position(const Rows& /*keys*/) { return 0x7fffffff; }

    __device__ static constexpr int query_parts() { return 1; }
    /// Returns the queries of a part that may attend to a tile of keys, from a multiple of `step` on.
    __device__ Rows queries_met(int /*part*/, const KeyTile& tile, int step) const {
        return {tile.keys.begin / step * step, seq()};
    }
};

/// Iterates over the tiles of keys that a tile of queries meets.
///
/// \tparam step  keys of a tile
template <class View, int step>
struct KeyTiles {
    int part;
    typename View::Rows keys;  ///< from the first key of this tile to the end of this part

    __device__ bool exists() const {
        if constexpr (View::has_parts) {
            return part >= 0;
        } else {
            return keys.begin < keys.end;
        }
    }
    /// Returns the position of the tile's first key.
    __device__ int position() const { return keys.begin + keys.offset; }

    __device__ static KeyTiles first(const View& of,
                                     std::int64_t batch,
                                     const typename View::Rows& queries,
                                     int last) {
        KeyTiles tiles{of.key_parts() - 1, of.keys_met(of.key_parts() - 1, batch, queries, last, step)};
        tiles.skip_empty(of, batch, queries, last);
        return tiles;
    }
    __device__ KeyTiles next(const View& of,
                             std::int64_t batch,
                             const typename View::Rows& queries,
                             int last) const {
        KeyTiles tiles = *this;
        tiles.keys.begin += step;
        tiles.skip_empty(of, batch, queries, last);
        return tiles;
    }

  private:
    __device__ void skip_empty(const View& of,
                               std::int64_t batch,
                               const typename View::Rows& queries,
                               int last) {
        if constexpr (View::has_parts) {
            while (part >= 0 && keys.begin >= keys.end) {
                --part;
                if (part >= 0) {
                    keys = of.keys_met(part, batch, queries, last, step);
                }
            }
        }
    }
};

/// Dropout factors of the weights of one head, for the thread's keys.
///
/// \tparam View  AttentionArguments or RingArguments
template <class Tile, class View>
class WeightDropout {
  public:
    __device__ WeightDropout(const View& of, std::int64_t batch, std::int64_t head)
        : mask_{of.dropout},
          sample_{mask_.drops() ? static_cast<std::uint64_t>(of.dropout.samples[batch]) : 0},
          head_{static_cast<std::uint32_t>(of.shape.first_head + head)} {}

    /// \param query, first_key  positions of a query and of the first of the thread's keys
    __device__ void factors(int query, int first_key, float (&to)[Tile::keys_each]) const {
        if (!mask_.drops()) {
#pragma unroll
            for (int i = 0; i < Tile::keys_each; ++i) {
                to[i] = 1;
            }
            return;
        }
        const auto words = mask_.words(static_cast<std::uint32_t>(first_key / 4),
                                       static_cast<std::uint32_t>(query), sample_, head_);
#pragma unroll
        for (int i = 0; i < Tile::keys_each; ++i) {
            to[i] = mask_.factor(word(words, first_key % 4 + i));
        }
        if constexpr (View::has_parts) {
            // A part may begin inside a group of four keys.
            if (first_key % 4 + Tile::keys_each > 4) {
                const auto more = mask_.words(static_cast<std::uint32_t>(first_key / 4 + 1),
                                              static_cast<std::uint32_t>(query), sample_, head_);
#pragma unroll
                for (int i = 0; i < Tile::keys_each; ++i) {
                    const int at = first_key % 4 + i - 4;
                    to[i] = at >= 0 ? mask_.factor(word(more, at)) : to[i];
                }
            }
        }
    }

  private:
    __device__ static std::uint32_t word(const Philox4x32::Counter& words, int at) {
        return at == 0 ? words[0] : at == 1 ? words[1] : at == 2 ? words[2] : words[3];
    }

    DropoutMask mask_;
    std::uint64_t sample_;
    std::uint32_t head_;
};

/// Four elements of a tile.
using FourFloats = SixteenBytes<float>;

/// Loads `rows` rows of a head from row `first`.
///
/// Rows after the end of the sequence and columns after the end of the head become 0.
template <class Tile, int rows, bool are_keys, class T>
__device__ void load_tile(
    HeadRows<const T> from, int first, int seq, int head_dim, bool is_aligned, float* tile) {
    constexpr int packs = Tile::head / pack;
    for (int i = threadIdx.x; i < rows * packs; i += Tile::threads) {
        const int row = i / packs;
        const int column = i % packs * pack;
        float value[pack]{};
        if (first + row < seq && column < head_dim) {
            load_some(from.row(first + row) + column, head_dim - column < pack ? head_dim - column : pack,
                      is_aligned, value);
        }
        float* to = tile + (are_keys ? Tile::row_of_key(row) : row) * Tile::step + column;
        store_pack(to, value);
    }
}

/// Computes scores[i][j] = the product of the thread's row i of the left factor and its key j.
template <class Tile>
__device__ void multiply(const float* left,
                         const float* keys,
                         float (&scores)[Tile::rows_each][Tile::keys_each]) {
#pragma unroll
    for (int i = 0; i < Tile::rows_each; ++i) {
#pragma unroll
        for (int j = 0; j < Tile::keys_each; ++j) {
            scores[i][j] = 0;
        }
    }
#pragma unroll 2
    for (int d = 0; d < Tile::head; d += 4) {
        FourFloats a[Tile::rows_each];
#pragma unroll
        for (int i = 0; i < Tile::rows_each; ++i) {
            a[i] = *reinterpret_cast<const FourFloats*>(left + (thread_y() + i * Tile::columns) * Tile::step +
                                                        d);
        }
#pragma unroll
        for (int j = 0; j < Tile::keys_each; ++j) {
            const auto b =
                *reinterpret_cast<const FourFloats*>(keys + (thread_x() + j * row_threads) * Tile::step + d);
#pragma unroll
            for (int i = 0; i < Tile::rows_each; ++i) {
#pragma unroll
                for (int e = 0; e < 4; ++e) {
                    scores[i][j] = std::fma(a[i].element[e], b.element[e], scores[i][j]);
                }
            }
        }
    }
}

/// Converts products to what `reader` reads of them.
template <class Tile>
__device__ void read_scores(const SoftcapReader& reader, float (&scores)[Tile::rows_each][Tile::keys_each]) {
    if (!reader.has_cap()) {
        return;
    }
#pragma unroll
    for (int i = 0; i < Tile::rows_each; ++i) {
#pragma unroll
        for (int j = 0; j < Tile::keys_each; ++j) {
            scores[i][j] = reader.read(scores[i][j]);
        }
    }
}

/// Computes sums[i] += the sum of weights[row i of the thread][n] * tile[n] over n < `inner`.
///
/// \param row_step, inner_step  strides of `weights`
template <class Tile, int inner, int rows>
__device__ void accumulate(const float* weights,
                           int row_step,
                           int inner_step,
                           const float* tile,
                           float (&sums)[rows][Tile::lines_each][4]) {
#pragma unroll 2
    for (int n = 0; n < inner; ++n) {
        float weight[rows];
#pragma unroll
        for (int i = 0; i < rows; ++i) {
            weight[i] = weights[(thread_y() + i * Tile::columns) * row_step + n * inner_step];
        }
#pragma unroll
        for (int line = 0; line < Tile::lines_each; ++line) {
            const auto b = *reinterpret_cast<const FourFloats*>(tile + n * Tile::step + 4 * thread_x() +
                                                                4 * row_threads * line);
#pragma unroll
            for (int i = 0; i < rows; ++i) {
#pragma unroll
                for (int e = 0; e < 4; ++e) {
                    sums[i][line][e] = std::fma(weight[i], b.element[e], sums[i][line][e]);
                }
            }
        }
    }
}

/// Rows of a head in float that results are stored to, or added to.
struct SumRows {
    HeadRows<float> rows;
    bool adds;
};

/// Stores the thread's part of row `row` of a head, multiplied by `factor`.
template <class Tile, class T>
__device__ void store_row(
    const float (&sums)[Tile::lines_each][4], float factor, int head_dim, const HeadRows<T>& rows, int row) {
    T* const to = rows.row(row);
#pragma unroll
    for (int line = 0; line < Tile::lines_each; ++line) {
#pragma unroll
        for (int e = 0; e < 4; ++e) {
            const int column = 4 * thread_x() + 4 * row_threads * line + e;
            if (column < head_dim) {
                tensor::store(to[column], sums[line][e] * factor);
            }
        }
    }
}

/// Computes the thread's part of a row: keep * row + factor * sums. The row is not read if keep is 0.
template <class Tile>
__device__ void merge_row(
    const float (&sums)[Tile::lines_each][4], float factor, float keep, int head_dim, float* to) {
#pragma unroll
    for (int line = 0; line < Tile::lines_each; ++line) {
#pragma unroll
        for (int e = 0; e < 4; ++e) {
            const int column = 4 * thread_x() + 4 * row_threads * line + e;
            if (column < head_dim) {
                const float before = keep == 0 ? 0.0f : keep * to[column];
                to[column] = std::fma(sums[line][e], factor, before);
            }
        }
    }
}

template <class Tile>
__device__ void store_row(
    const float (&sums)[Tile::lines_each][4], float factor, int head_dim, const SumRows& to, int row) {
    merge_row<Tile>(sums, factor, to.adds ? 1.0f : 0.0f, head_dim, to.rows.row(row));
}

/// Returns the sum over the threads of a row, with the same bits in all of them.
__device__ inline float sum_of_row(float value) {
#pragma unroll
    for (int distance = row_threads / 2; distance > 0; distance /= 2) {
        value += __shfl_xor_sync(0xffffffffu, value, distance);
    }
    return value;
}

__device__ inline float top_of_row(float value) {
#pragma unroll
    for (int distance = row_threads / 2; distance > 0; distance /= 2) {
        value = fmaxf(value, __shfl_xor_sync(0xffffffffu, value, distance));
    }
    return value;
}

}  // namespace ziggurat::kernels::cuda
