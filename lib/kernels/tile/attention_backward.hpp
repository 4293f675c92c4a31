/// Backward of one attention head, tile by tile.
#pragma once

#include <cstring>

#include "kernels/tile/attention_head.hpp"

namespace ziggurat::kernels::tile {

/// Queries whose weights and score gradients are in L1 at a time: a multiple of 6 and of 2.
inline constexpr int backward_queries = 120;

/// Computes the gradients of one group of query heads, and of the keys and values that they share.
///
/// The outermost loop is over panels of 64 keys, so that their gradients stay in cache while all queries are
/// processed. The gradient of the queries is summed in a separate buffer.
template <class V, class T>
class BackwardHead {
  public:
    using Float = typename V::Float;
    static constexpr int pair = elements_per_word<V, T>;

    BackwardHead(int seq, int head_dim, Scratch& scratch)
        : size_{seq, head_dim},
          query_rows_{scratch.take<std::uint32_t>(size_.columns())},
          query_columns_{pair == 1 ? query_rows_ : scratch.take<std::uint32_t>(size_.columns())},
          d_out_rows_{scratch.take<std::uint32_t>(size_.columns())},
          d_out_columns_{pair == 1 ? d_out_rows_ : scratch.take<std::uint32_t>(size_.columns())},
          keys_{scratch.take<std::uint32_t>(size_.transposed())},
          key_columns_{scratch.take<std::uint32_t>(size_.columns())},
          values_{scratch.take<std::uint32_t>(size_.transposed())},
          d_query_{scratch.take<float>(size_.sums())},
          d_key_{scratch.take<float>(size_.sums())},
          d_value_{scratch.take<float>(size_.sums())},
          delta_{scratch.take<float>(size_.padded_rows)},
          weights_{scratch.take<std::uint32_t>(backward_queries * tile_columns / pair)},
          d_scores_{scratch.take<std::uint32_t>(backward_queries * tile_columns / pair)},
          d_score_rows_{pair == 1 ? d_scores_
                                  : scratch.take<std::uint32_t>(backward_queries * tile_columns / 2)},
          exponentials_{scratch.take<float>(tile_rows * tile_columns)},
          factors_{scratch.take<float>(tile_rows * tile_columns)},
          tangents_{scratch.take<float>(tile_rows * tile_columns)} {}

    /// Starts a group: packs its keys and values and zeroes the sums of their gradients.
    void begin(const PackSource<T>& k, const PackSource<T>& v) {
        pack_transposed<V>(k, keys_);
        pack_columns<V>(k, key_columns_);
        pack_transposed<V>(v, values_);
        clear(d_key_);
        clear(d_value_);
    }

    /// Adds one query head; `out` and `d_out` are [rows, head_dim]. Writes d_q with rows `d_step` apart.
    template <class To>
    void run(const Head<T>& head,
             const PackSource<T>& out,
             const PackSource<T>& d_out,
             const float* lse,
             Accumulate accumulate,
             To* d_q,
             std::int64_t d_step) {
        pack_left<V>(head.q, query_rows_);
        pack_left<V>(d_out, d_out_rows_);
        if constexpr (pair == 2) {
            pack_columns<V>(head.q, query_columns_);
            pack_columns<V>(d_out, d_out_columns_);
        }
        compute_delta(out, d_out);
        clear(d_query_);
        int end = head.end_row();
        for (int key = (head.keys() - 1) / 64 * 64; key >= 0; key -= 64) {
            const int begin = std::max(key, head.first_row);
            while (end > begin && head.first_key(end - 1) > key + 63) {
                --end;  // the last query that attends to a key of this panel; it moves back with the panels
            }
            for (int first = begin; first < end; first += backward_queries) {
                meet(head, key, first, std::min(backward_queries, end - first), lse);
            }
        }
        write(d_query_, head.scale, head.q, accumulate, d_q, d_step);
    }

    /// Ends the group: writes the gradients of its keys and values.
    template <class To>
    void end(const Head<T>& head, Accumulate accumulate, To* d_k, To* d_v, std::int64_t d_step) const {
        write(d_key_, head.scale, head.k, accumulate, d_k, d_step);
        write(d_value_, 1.0f, head.k, accumulate, d_v, d_step);
    }

  private:
    void clear(float* sums) const {
        std::memset(sums, 0, static_cast<std::size_t>(size_.sums()) * sizeof(float));
    }

    /// Computes delta = rowsum(out * d_out), the sum over keys of each weight times its gradient.
    void compute_delta(const PackSource<T>& out, const PackSource<T>& d_out) {
        for (int row = 0; row < out.rows; ++row) {
            prefetch(out.data + (row + prefetched_rows) * out.step, out.columns);
            Float total = V::zero();
            for (int column = 0; column < out.columns; column += 16) {
                const int count = out.columns - column;
                total = V::fma(V::load_elements(out.data + row * out.step + column, count),
                               V::load_elements(d_out.data + row * d_out.step + column, count), total);
            }
            delta_[row] = V::sum(total);
        }
    }

    /// Processes queries [first, first + count) with the keys of the panel that begins at `key`.
    void meet(const Head<T>& head, int key, int first, int count, const float* lse) {
        for (int row = 0; row < count; row += tile_rows) {
            with_rows(std::min(tile_rows, count - row), [&](auto rows) {
                if (head.dropout.drops()) {
                    differentiate<rows, true>(head, key, first + row, row, lse);
                } else {
                    differentiate<rows, false>(head, key, first + row, row, lse);
                }
            });
        }
        const int keys = std::min(64, head.keys() - key);
        const std::int64_t words = divide_up(count, pair);
        const std::int64_t query = first - head.first_row;
        const std::int64_t query_word = query / pair;
        const std::int64_t sums_step = size_.padded_rows * tile_columns;
        for (int row = 0; row < keys; row += tile_rows) {
            const std::int64_t skipped = first == key ? row / pair : 0;  // queries above the diagonal
            if (words <= skipped) {
                break;
            }
            const auto at = skipped * tile_columns + row;
            const auto right = (query_word + skipped) * tile_columns;
            with_rows(std::min(tile_rows, keys - row), [&](auto rows) {
                accumulate_rows<V, T, 1, tile_columns, rows>(
                    weights_ + at, d_out_columns_ + right, size_.words_per_panel, words - skipped,
                    d_value_ + (key + row) * tile_columns, sums_step, head.head_dim());
                accumulate_rows<V, T, 1, tile_columns, rows>(
                    d_scores_ + at, query_columns_ + right, size_.words_per_panel, words - skipped,
                    d_key_ + (key + row) * tile_columns, sums_step, head.head_dim());
            });
        }
        for (int row = 0; row < count; row += tile_rows) {
            const int rows_here = std::min(tile_rows, count - row);
            const int live = std::min(keys, first + row + rows_here - key);
            with_rows(rows_here, [&](auto rows) {
                accumulate_rows<V, T, tile_columns / pair, 1, rows>(
                    d_score_rows_ + row * tile_columns / pair, key_columns_ + key / pair * tile_columns,
                    size_.words_per_panel, divide_up(live, pair), d_query_ + (query + row) * tile_columns,
                    sums_step, head.head_dim());
            });
        }
    }

    /// Computes the weights (after dropout) and score gradients of R queries for one panel of keys.
    ///
    /// Stores them in the order in which the three following products read them. `slot` is the position of
    /// the row in its block.
    template <int R, bool Drops>
    void differentiate(const Head<T>& head, int key, int row, int slot, const float* lse) {
        const int query = row - head.first_row;
        const bool masked = key + 64 > head.end_key(row) || key < head.first_key(row + R - 1);
        // The diagonal or the end of the keys masks the other columns.
        const bool half = head.end_key(row + R - 1) - key <= 32;
        float* weights = pair == 1 ? reinterpret_cast<float*>(weights_) + slot * tile_columns : exponentials_;

        Float tile[R][4];
        product<R>(
            query_rows_, query, keys_ + key * size_.words_per_row, half, [](int) { return V::zero(); }, tile);
        if (head.has_cap()) {
            cap<R>(head, tile);
        }
        const Float slope = V::broadcast(head.log2_scale());
#pragma GCC unroll 6
        for (int r = 0; r < R; ++r) {
            const Float shift = V::broadcast(-lse[query + r]);
            const int seen = head.first_key(row + r);
#pragma GCC unroll 4
            for (int v = 0; v < 4; ++v) {
                Float w = V::exp2(V::fma(tile[r][v], slope, shift));
                if (masked) {
                    const int lane = key + 16 * v;
                    w = V::keep(w, seen - lane, head.end_key(row + r) - lane, V::zero());
                }
                V::store(weights + r * tile_columns + 16 * v, w);
            }
        }

        const float* delta = delta_ + query;
        const auto start = [delta](int r) { return Drops ? V::zero() : V::broadcast(-delta[r]); };
        product<R>(d_out_rows_, query, values_ + key * size_.words_per_row, half, start, tile);
        for (int r = 0; Drops && r < R; ++r) {
            dropout_factors(head, row + r, key, 64, factors_ + r * tile_columns);
        }
#pragma GCC unroll 6
        for (int r = 0; r < R; ++r) {
#pragma GCC unroll 4
            for (int v = 0; v < 4; ++v) {
                float* at = weights + r * tile_columns + 16 * v;
                const Float w = V::load(at);
                if constexpr (Drops) {
                    const Float factor = V::load(factors_ + r * tile_columns + 16 * v);
                    tile[r][v] = V::fma(tile[r][v], factor, V::broadcast(-delta[r]));
                    V::store(at, V::multiply(w, factor));
                }
                tile[r][v] = V::multiply(tile[r][v], w);
            }
        }
        if (head.has_cap()) {
            differentiate_cap<R>(tile);
        }
        store_d_scores<R>(slot, tile);
        if constexpr (pair == 2) {
            store_pairs_of_queries<R>(slot, tile);
        }
    }

    /// Caps the scores of a tile. Keeps the result for differentiate_cap.
    template <int R>
    [[gnu::always_inline]] void cap(const Head<T>& head, Float (&tile)[R][4]) {
        for (int r = 0; r < R; ++r) {
            for (int v = 0; v < 4; ++v) {
                V::store(tangents_ + r * tile_columns + 16 * v, tile[r][v]);
            }
        }
        cap_scores(head, R * tile_columns, tangents_);
        for (int r = 0; r < R; ++r) {
            for (int v = 0; v < 4; ++v) {
                tile[r][v] = V::load(tangents_ + r * tile_columns + 16 * v);
            }
        }
    }

    /// Multiplies score gradients by the derivative of the cap, 1 - tanh^2.
    template <int R>
    [[gnu::always_inline]] void differentiate_cap(Float (&tile)[R][4]) const {
        for (int r = 0; r < R; ++r) {
            for (int v = 0; v < 4; ++v) {
                const Float tangent = V::load(tangents_ + r * tile_columns + 16 * v);
                const Float minus = V::multiply(tangent, V::broadcast(-1.0f));
                tile[r][v] = V::multiply(tile[r][v], V::fma(minus, tangent, V::broadcast(1.0f)));
            }
        }
    }

    /// Computes tile = start(row) + rows of `left` times a panel.
    ///
    /// Computes only its first half if the rest is masked.
    template <int R, class Start>
    [[gnu::always_inline]] void product(const std::uint32_t* left,
                                        int row,
                                        const std::uint32_t* panel,
                                        bool half,
                                        const Start& start,
                                        Float (&tile)[R][4]) const {
#pragma GCC unroll 6
        for (int r = 0; r < R; ++r) {
#pragma GCC unroll 4
            for (int v = 0; v < 4; ++v) {
                tile[r][v] = start(r);
            }
        }
        if (!half) {
            multiply_rows(left, size_, row, panel, tile);
            return;
        }
        Float narrow[R][2];
#pragma GCC unroll 6
        for (int r = 0; r < R; ++r) {
            narrow[r][0] = narrow[r][1] = start(r);
        }
        multiply_rows(left, size_, row, panel, narrow);
#pragma GCC unroll 6
        for (int r = 0; r < R; ++r) {
            tile[r][0] = narrow[r][0];
            tile[r][1] = narrow[r][1];
        }
    }

    template <int R>
    [[gnu::always_inline]] void store_d_scores(int slot, const Float (&tile)[R][4]) {
        std::uint32_t* rows = d_score_rows_ + slot * tile_columns / pair;
#pragma GCC unroll 6
        for (int r = 0; r < R; ++r) {
            if constexpr (pair == 2) {
                V::store_words(rows + r * 32, V::pairs(tile[r][0], tile[r][1]));
                V::store_words(rows + r * 32 + 16, V::pairs(tile[r][2], tile[r][3]));
            } else {
#pragma GCC unroll 4
                for (int v = 0; v < 4; ++v) {
                    V::store(reinterpret_cast<float*>(rows) + r * tile_columns + 16 * v, tile[r][v]);
                }
            }
        }
    }

    /// Stores words of two queries, for the products that sum over queries.
    ///
    /// R is even, except for the last queries of a sequence.
    template <int R>
    [[gnu::always_inline]] void store_pairs_of_queries(int slot, const Float (&tile)[R][4]) {
#pragma GCC unroll 3
        for (int r = 0; r < R; r += 2) {
            const std::int64_t at = (slot + r) / 2 * tile_columns;
#pragma GCC unroll 4
            for (int v = 0; v < 4; ++v) {
                const float* weights = exponentials_ + r * tile_columns + 16 * v;
                const bool has_second = r + 1 < R;
                const Float d_second = has_second ? tile[has_second ? r + 1 : r][v] : V::zero();
                const Float second = has_second ? V::load(weights + tile_columns) : V::zero();
                V::store_words(d_scores_ + at + 16 * v, V::interleave(tile[r][v], d_second));
                V::store_words(weights_ + at + 16 * v, V::interleave(V::load(weights), second));
            }
        }
    }

    /// Rounds `sums` [panels][rows][64] times `factor` to the elements of `to`, or adds them to these.
    ///
    /// `of` has the number of rows and columns.
    template <class To>
    void write(const float* sums,
               float factor,
               const PackSource<T>& of,
               Accumulate accumulate,
               To* to,
               std::int64_t step) const {
        const Float scale = V::broadcast(factor);
        for (int row = 0; row < of.rows; ++row) {
            prefetch<Access::write>(to + (row + prefetched_rows) * step, of.columns);
            for (int column = 0; column < of.columns; column += 16) {
                const int count = of.columns - column;
                To* const at = to + row * step + column;
                const float* from = sums + (column / tile_columns * size_.padded_rows + row) * tile_columns +
                                    column % tile_columns;
                Float value = V::multiply(V::load(from), scale);
                if (accumulate == Accumulate::yes) {
                    value = V::add(V::load_elements(at, count), value);
                }
                V::store_elements(at, value, count);
            }
        }
    }

    PackedSize<V, T> size_;
    std::uint32_t* query_rows_;
    std::uint32_t* query_columns_;
    std::uint32_t* d_out_rows_;
    std::uint32_t* d_out_columns_;
    std::uint32_t* keys_;
    std::uint32_t* key_columns_;
    std::uint32_t* values_;
    float* d_query_;  ///< [panels][padded_rows][64], as are the next two
    float* d_key_;
    float* d_value_;
    float* delta_;
    std::uint32_t* weights_;   ///< [queries in words][64 keys]
    std::uint32_t* d_scores_;  ///< [queries in words][64 keys]
    std::uint32_t*
        d_score_rows_;  ///< [queries][64 keys in words]; if a word is one float: the same memory as d_scores_
    float* exponentials_;  ///< [tile_rows][64], before they are rounded to pairs
    float* factors_;
    float* tangents_;  ///< [tile_rows][64]: tanh of the scores, if they have a cap
};

}  // namespace ziggurat::kernels::tile
