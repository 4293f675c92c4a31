/// Forward of one attention head, tile by tile.
#pragma once

#include <cmath>
#include <cstring>
#include <type_traits>

#include "kernels/tile/attention_head.hpp"

namespace ziggurat::kernels::tile {

/// Query rows whose output is summed at a time, and keys per running maximum.
///
/// With 64 keys instead of 512 the maxima and the rescaling cost 8 % (float) and 17 % (bfloat16).
inline constexpr int forward_queries = 96;
inline constexpr int forward_keys = 512;
static_assert(forward_keys <= max_dropout_factors);

/// Computes softmax(scale q k^T) v of one head. Query heads that share keys and values pack them once.
template <class V, class T>
class ForwardHead {
  public:
    using Float = typename V::Float;
    static constexpr int pair = elements_per_word<V, T>;

    ForwardHead(int seq, int head_dim, Scratch& scratch) : ForwardHead{seq, seq, head_dim, scratch} {}
    /// \param queries, keys  number of rows of each that are packed at a time
    ForwardHead(int queries, int keys, int head_dim, Scratch& scratch)
        : query_size_{queries, head_dim},
          size_{keys, head_dim},
          queries_{scratch.take<std::uint32_t>(query_size_.columns())},
          keys_{scratch.take<std::uint32_t>(size_.transposed())},
          values_{scratch.take<std::uint32_t>(size_.columns())},
          sums_{scratch.take<float>(size_.panels * forward_queries * tile_columns)},
          scores_{scratch.take<float>(tile_rows * forward_keys)},
          weights_{pair == 1 ? reinterpret_cast<std::uint32_t*>(scores_)
                             : scratch.take<std::uint32_t>(tile_rows * forward_keys / pair)},
          factors_{scratch.take<float>(forward_keys)},
          maxima_{scratch.take<float>(forward_queries)},
          totals_{scratch.take<float>(forward_queries)} {}

    void pack_keys_and_values(const PackSource<T>& k, const PackSource<T>& v) {
        pack_transposed<V>(k, keys_);
        pack_columns<V>(v, values_);
    }

    /// out [rows, head_dim] with rows `out_step` apart; lse [rows] in units of log2.
    void run(const Head<T>& head, T* out, std::int64_t out_step, float* lse) {
        process(head, Earlier::none, out, out_step, lse);
    }

    /// Keys of a query that out and lse already cover.
    enum class Earlier { none, some };

    /// Does the same for a part of the keys, and merges the result with that of earlier parts.
    ///
    /// The earlier keys of a query count as one key with the score lse and the value out. With Earlier::none,
    /// each query attends to some key of this part.
    void merge(const Head<T>& head, Earlier earlier, float* out, std::int64_t out_step, float* lse) {
        process(head, earlier, out, out_step, lse);
    }

  protected:
    template <class To>
    void process(const Head<T>& head, Earlier earlier, To* out, std::int64_t out_step, float* lse) {
        pack_left<V>(head.q, queries_);
        for (int first = head.first_row; first < head.end_row(); first += forward_queries) {
            if (head.first_key(first) >= head.keys()) {
                return;  // nor do later queries attend to a key, because first keys never decrease
            }
            const int last = std::min(head.end_row(), first + forward_queries);
            To* const to = out + (first - head.first_row) * out_step;
            float* const lse_of_rows = lse + first - head.first_row;
            clear();
            if constexpr (std::is_same_v<To, float>) {
                for (int row = first; earlier == Earlier::some && row < last; ++row) {
                    load(head, row - first, to + (row - first) * out_step, lse_of_rows[row - first]);
                }
            }
            const int first_key = head.first_key(first) / forward_keys * forward_keys;
            const int last_key = head.end_key(last - 1);
            for (int key = first_key; key < last_key; key += forward_keys) {
                for (int row = first; row < last; row += tile_rows) {
                    attend(head, row, std::min(tile_rows, last - row), row - first, key);
                }
            }
            for (int row = first; row < last; ++row) {
                lse_of_rows[row - first] = lse_of(head, row - first);
                write(head, row - first, to + (row - first) * out_step);
            }
        }
    }

    void clear() {
        std::memset(sums_, 0,
                    static_cast<std::size_t>(size_.panels * forward_queries * tile_columns) * sizeof(float));
        std::fill_n(maxima_, forward_queries, lowest_maximum);
        std::fill_n(totals_, forward_queries, 0.0f);
    }

    /// Starts the sums of a query with the result of earlier keys.
    void load(const Head<T>& head, int slot, const float* out, float lse) {
        maxima_[slot] = lse / head.log2_scale();
        totals_[slot] = 1;
        for (int column = 0; column < head.head_dim(); column += 16) {
            V::store(sums_of(slot, column), V::load_elements(out + column, head.head_dim() - column));
        }
    }

    /// Returns the accumulators of columns [column, column + 16) of a query.
    float* sums_of(int slot, int column) const {
        return sums_ + (column / tile_columns * forward_queries + slot) * tile_columns +
               column % tile_columns;
    }

    /// Processes rows [row, row + rows) with the keys of the block that begins at `block`.
    void attend(const Head<T>& head, int row, int rows, int slot, int block) {
        const int first = std::max(block, head.first_key(row) / 64 * 64);
        const int last = std::min(block + forward_keys, head.end_key(row + rows - 1));
        if (first >= last) {
            return;
        }
        with_rows(rows, [&](auto count) {
            constexpr int R = count;
            Float top[R];
            score<R>(head, row, first, last, top);
            weigh<R>(head, row, slot, first, last, top);
            accumulate_rows<V, T, forward_keys / pair, 1, R>(
                weights_, values_ + first / pair * tile_columns, size_.words_per_panel,
                divide_up(last - first, pair), sums_ + slot * tile_columns, forward_queries * tile_columns,
                head.head_dim());
        });
    }

    /// Writes scores of R rows for keys [first, last) to `scores_`, and their maxima per lane to `top`.
    template <int R>
    void score(const Head<T>& head, int row, int first, int last, Float (&top)[R]) {
        const Float lowest = V::broadcast(masked_score);
        for (int r = 0; r < R; ++r) {
            top[r] = lowest;
        }
        for (int key = first; key < last; key += 64) {
            const std::uint32_t* panel = keys_ + (key - first_packed_) * size_.words_per_row;
            Float tile[R][4];
#pragma GCC unroll 6
            for (int r = 0; r < R; ++r) {
#pragma GCC unroll 4
                for (int v = 0; v < 4; ++v) {
                    tile[r][v] = V::zero();
                }
            }
            if (last - key > 32) {
                multiply_rows(queries_, query_size_, row - head.first_row, panel, tile);
            } else {  // the diagonal or the end of the keys masks the other half
                Float half[R][2];
#pragma GCC unroll 6
                for (int r = 0; r < R; ++r) {
                    half[r][0] = half[r][1] = V::zero();
                }
                multiply_rows(queries_, query_size_, row - head.first_row, panel, half);
#pragma GCC unroll 6
                for (int r = 0; r < R; ++r) {
                    tile[r][0] = half[r][0];
                    tile[r][1] = half[r][1];
                }
            }
            float* scores = scores_ + key - first;
#pragma GCC unroll 6
            for (int r = 0; r < R; ++r) {
#pragma GCC unroll 4
                for (int v = 0; v < 4; ++v) {
                    V::store(scores + r * forward_keys + 16 * v, tile[r][v]);
                }
            }
            for (int r = 0; head.has_cap() && r < R; ++r) {
                cap_scores(head, tile_columns, scores + r * forward_keys);
            }
            if (head.has_cap() || key + 64 > head.end_key(row) || key < head.first_key(row + R - 1)) {
                mask<R>(head, row, key, scores, top);
                continue;
            }
#pragma GCC unroll 6
            for (int r = 0; r < R; ++r) {
                top[r] =
                    V::max(top[r], V::max(V::max(tile[r][0], tile[r][1]), V::max(tile[r][2], tile[r][3])));
            }
        }
    }

    /// Masks the scores of excluded pairs in a panel, and takes the maxima from memory.
    ///
    /// A separate function, because few panels need it if scores have no cap, and inlined into the products
    /// it would cost registers.
    template <int R>
    [[gnu::noinline]] static void mask(
        const Head<T>& head, int row, int key, float* scores, Float (&top)[R]) {
        const Float lowest = V::broadcast(masked_score);
        for (int r = 0; r < R; ++r) {
            for (int v = 0; v < 4; ++v) {
                float* at = scores + r * forward_keys + 16 * v;
                const int lane = key + 16 * v;
                const Float kept = V::keep(V::load(at), head.first_key(row + r) - lane,
                                           head.end_key(row + r) - lane, lowest);
                V::store(at, kept);
                top[r] = V::max(top[r], kept);
            }
        }
    }

    /// Converts scores to weights relative to the new maxima, and rescales earlier sums.
    template <int R>
    void weigh(const Head<T>& head, int row, int slot, int first, int last, const Float (&top)[R]) {
        const float to_log2 = head.log2_scale();
        const int columns = static_cast<int>(divide_up(last - first, 16 * pair)) * 16 * pair;
        for (int r = 0; r < R; ++r) {
            const float before = maxima_[slot + r];
            const float now = std::max(before, V::max_of(top[r]));
            maxima_[slot + r] = now;
            const bool drops = head.dropout.drops();
            if (drops) {
                dropout_factors(head, row + r, first, columns, factors_);
            }
            const float* scores = scores_ + r * forward_keys;
            std::uint32_t* weights = weights_ + r * forward_keys / pair;
            const float total = drops ? exponentials<true>(scores, columns, to_log2, now, weights)
                                      : exponentials<false>(scores, columns, to_log2, now, weights);
            const Float shrink = V::exp2(V::broadcast((before - now) * to_log2));
            totals_[slot + r] = std::fma(totals_[slot + r], V::first_of(shrink), total);
            for (std::int64_t panel = 0; panel < size_.panels; ++panel) {
                float* sums = sums_ + (panel * forward_queries + slot + r) * tile_columns;
#pragma GCC unroll 4
                for (int v = 0; v < 4; ++v) {
                    V::store(sums + 16 * v, V::multiply(V::load(sums + 16 * v), shrink));
                }
            }
        }
    }

    /// Computes weights = exp(score - maximum) with dropout. Returns their sum before dropout and rounding.
    template <bool Drops>
    float exponentials(
        const float* scores, int columns, float to_log2, float maximum, std::uint32_t* weights) const {
        const Float slope = V::broadcast(to_log2);
        const Float shift = V::broadcast(-maximum * to_log2);
        const auto weight = [&](int column) {
            return V::exp2(V::fma(V::load(scores + column), slope, shift));
        };
        const auto dropped = [&](Float w, int column) {
            return Drops ? V::multiply(w, V::load(factors_ + column)) : w;
        };
        Float total = V::zero();
        for (int column = 0; column < columns; column += 16 * pair) {
            const Float w = weight(column);
            if constexpr (pair == 2) {
                const Float next = weight(column + 16);
                total = V::add(total, V::add(w, next));
                V::store_words(weights + column / 2,
                               V::pairs(dropped(w, column), dropped(next, column + 16)));
            } else {
                total = V::add(total, w);
                V::store(reinterpret_cast<float*>(weights) + column, dropped(w, column));
            }
        }
        return V::sum(total);
    }

    float lse_of(const Head<T>& head, int slot) const {
        return std::fma(maxima_[slot], head.log2_scale(), std::log2(totals_[slot]));
    }

    template <class To>
    void write(const Head<T>& head, int slot, To* out) const {
        const Float inverse = V::broadcast(1.0f / totals_[slot]);
        for (int column = 0; column < head.head_dim(); column += 16) {
            V::store_elements(out + column, V::multiply(V::load(sums_of(slot, column)), inverse),
                              head.head_dim() - column);
        }
    }

    PackedSize<V, T> query_size_;
    PackedSize<V, T> size_;  ///< of keys and values
    std::uint32_t* queries_;
    std::uint32_t* keys_;
    std::uint32_t* values_;
    float* sums_;             ///< [panels][forward_queries][64]
    float* scores_;           ///< [tile_rows][forward_keys]
    std::uint32_t* weights_;  ///< the same in words; if a word is one float, they overwrite the scores
    float* factors_;
    float* maxima_;
    float* totals_;
    int first_packed_ = 0;  ///< position of the first packed key
};

}  // namespace ziggurat::kernels::tile
