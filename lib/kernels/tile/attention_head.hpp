/// Code that forward and backward of an attention head share.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/contract.hpp"
#include "kernels/element/dropout.hpp"
#include "kernels/element/softcap.hpp"
#include "kernels/tile/packed.hpp"

namespace ziggurat::kernels::tile {

/// Rows of a tile.
///
/// With 4 vectors of columns, 24 accumulators, 4 right operands and 1 left operand take 29 of 32 registers.
inline constexpr int tile_rows = 6;

/// The score of a masked pair; not -infinity, because differences of infinities are NaN.
inline constexpr float masked_score = -1e30f;

/// Initial value of running maxima: below every valid score and far above `masked_score`.
///
/// Keys that are masked for a row get the weight 2^-huge = 0 even before the row's first unmasked key.
inline constexpr float lowest_maximum = -1e20f;

/// One query head, and the keys and values that it attends to.
///
/// Rows of queries and keys are counted from the first key. Keys may be a part of a sequence
/// (ring_attention.hpp); query 0 is then at row `first_row`, and `first_position` is the position of key 0.
template <class T>
struct Head {
    PackSource<T> q, k, v;                ///< [rows, head_dim] each
    const std::int32_t* document_starts;  ///< by position in the sequence, or null
    float scale;                          ///< of the scores
    float cap;                            ///< soft cap of the scaled scores; 0: none
    DropoutMask dropout;                  ///< of the weights
    std::uint64_t sample;                 ///< global index, for dropout
    std::uint32_t head;                   ///< global index, for dropout
    int first_row = 0;                    ///< row of query 0; 0 if queries and keys begin together
    int window = 0;                       ///< without document_starts: number of keys of a query; 0: all
    int first_position = 0;               ///< position of key 0 in its sequence

    /// Returns the rows of queries: [first_row, end_row).
    int end_row() const { return first_row + q.rows; }
    int keys() const { return k.rows; }
    /// Returns the end of the keys to which the query at `row` attends.
    int end_key(int row) const { return std::min(row + 1, keys()); }
    int head_dim() const { return q.columns; }
    /// Returns the first key that the query at `row` attends to; after the last key if it attends to none.
    int first_key(int row) const {
        if (document_starts != nullptr) {
            return std::max(0, document_starts[first_position + row] - first_position);
        }
        return window == 0 ? 0 : std::max(0, row - window + 1);
    }
    bool has_cap() const { return cap > 0; }
    /// Returns the factor that converts scores, or their tanh if they have a cap, to exponents of 2.
    float log2_scale() const { return SoftcapReader::of(scale, cap).slope; }
};

/// Replaces `count` scores by tanh(scale / cap * score).
template <class T>
[[gnu::noinline]] void cap_scores(const Head<T>& head, int count, float* scores) {
    const float inner = SoftcapReader::of(head.scale, head.cap).inner;
#pragma omp simd
    for (int i = 0; i < count; ++i) {
        scores[i] = hyperbolic_tangent(inner * scores[i]);
    }
}

/// Maximum number of keys whose dropout factors are computed at a time.
inline constexpr int max_dropout_factors = 512;

/// Writes the factors 1 / (1 - p) or 0 for keys of a query from position `first` on, in groups of 4.
template <class T>
void dropout_groups(const Head<T>& head, std::uint32_t position, int first, int groups, float* factors) {
    const auto mask = head.dropout;
    const auto sample = head.sample;
    const auto group = static_cast<std::uint32_t>(first / 4);
    const auto index = head.head;
#pragma omp simd
    for (int g = 0; g < groups; ++g) {
        const auto words = mask.words(group + static_cast<std::uint32_t>(g), position, sample, index);
        factors[4 * g] = mask.factor(words[0]);
        factors[4 * g + 1] = mask.factor(words[1]);
        factors[4 * g + 2] = mask.factor(words[2]);
        factors[4 * g + 3] = mask.factor(words[3]);
    }
}

/// Writes the dropout factors for the keys [first_key, first_key + count) of the query at `row`.
///
/// `first_key` is a multiple of 4, and `count` at most max_dropout_factors. Whole groups of 4 are written.
template <class T>
void dropout_factors(const Head<T>& head, int row, int first_key, int count, float* factors) {
    const auto position = static_cast<std::uint32_t>(head.first_position + row);
    const int first = head.first_position + first_key;
    const int groups = (count + 3) / 4;
    if (const int skipped = first % 4; skipped != 0) {  // the keys begin within a group
        float all[max_dropout_factors + 4];
        dropout_groups(head, position, first - skipped, groups + 1, all);
        std::copy_n(all + skipped, 4 * groups, factors);
        return;
    }
    dropout_groups(head, position, first, groups, factors);
}

/// Allocates aligned arrays from a range of bytes.
class Scratch {
  public:
    Scratch(std::byte* begin, std::int64_t bytes) : at_{begin}, end_{begin + bytes} {}

    template <class Element>
    Element* take(std::int64_t count) {
        std::byte* begin = at_;
        at_ += divide_up(count * static_cast<std::int64_t>(sizeof(Element)), 64) * 64;
        ZG_EXPECTS(at_ <= end_);
        return reinterpret_cast<Element*>(begin);
    }

  private:
    std::byte* at_;
    std::byte* end_;
};

/// Sizes in words of packed operands of `rows` x `columns` elements.
template <class V, class T>
struct PackedSize {
    std::int64_t padded_rows, panels, words_per_row, words_per_panel;  ///< of columns or of left rows

    PackedSize(std::int64_t rows, std::int64_t columns)
        : padded_rows{divide_up(rows, tile_columns) * tile_columns},
          panels{divide_up(columns, tile_columns)},
          words_per_row{divide_up(columns, elements_per_word<V, T>)},
          words_per_panel{padded_rows / elements_per_word<V, T> * tile_columns} {}

    std::int64_t transposed() const { return padded_rows * words_per_row; }
    std::int64_t columns() const { return panels * words_per_panel; }
    std::int64_t left_rows() const {
        return elements_per_word<V, T> == 2 ? padded_rows * words_per_row : columns();
    }
    /// Returns the floats of an accumulator [panels][padded_rows][64].
    std::int64_t sums() const { return panels * padded_rows * tile_columns; }
};

/// Computes tile += rows [row, row + R) of `left` (pack_left) times a panel (pack_transposed).
template <class V, class T, int R, int N>
[[gnu::always_inline]] inline void multiply_rows(const std::uint32_t* left,
                                                 const PackedSize<V, T>& size,
                                                 int row,
                                                 const std::uint32_t* panel,
                                                 typename V::Float (&tile)[R][N]) {
    constexpr int step = tile_columns / elements_per_word<V, T>;
    const std::uint32_t* from = left + row * step;
    auto words = size.words_per_row;
    do {
        multiply<V, T, step, 1>(from, panel, std::min<std::int64_t>(words, step), tile);
        from += size.words_per_panel;
        panel += step * tile_columns;
        words -= step;
    } while (words > 0);
}

/// Adds rows of a left factor times words of a panel (pack_columns) to R rows of 64 floats.
template <class V, class T, int RowStep, int WordStep, int R, int N>
void accumulate_tile(const std::uint32_t* a, const std::uint32_t* panel, std::int64_t words, float* to) {
    typename V::Float tile[R][N];
#pragma GCC unroll 6
    for (int r = 0; r < R; ++r) {
#pragma GCC unroll 4
        for (int n = 0; n < N; ++n) {
            tile[r][n] = V::load(to + r * tile_columns + 16 * n);
        }
    }
    multiply<V, T, RowStep, WordStep>(a, panel, words, tile);
#pragma GCC unroll 6
    for (int r = 0; r < R; ++r) {
#pragma GCC unroll 4
        for (int n = 0; n < N; ++n) {
            V::store(to + r * tile_columns + 16 * n, tile[r][n]);
        }
    }
}

/// Does the same for all columns, panel by panel: `to` and `right` advance by their steps.
template <class V, class T, int RowStep, int WordStep, int R>
void accumulate_rows(const std::uint32_t* a,
                     const std::uint32_t* right,
                     std::int64_t right_step,
                     std::int64_t words,
                     float* to,
                     std::int64_t to_step,
                     int columns) {
    for (int column = 0; column < columns; column += tile_columns) {
        switch (divide_up(std::min<std::int64_t>(columns - column, tile_columns), 16)) {
            case 1:
                accumulate_tile<V, T, RowStep, WordStep, R, 1>(a, right, words, to);
                break;
            case 2:
                accumulate_tile<V, T, RowStep, WordStep, R, 2>(a, right, words, to);
                break;
            case 3:
                accumulate_tile<V, T, RowStep, WordStep, R, 3>(a, right, words, to);
                break;
            default:
                accumulate_tile<V, T, RowStep, WordStep, R, 4>(a, right, words, to);
                break;
        }
        right += right_step;
        to += to_step;
    }
}

/// Calls action(std::integral_constant<int, R>) for R rows, at most tile_rows.
template <class Action>
void with_rows(int rows, const Action& action) {
    switch (rows) {
        case 1:
            return action(std::integral_constant<int, 1>{});
        case 2:
            return action(std::integral_constant<int, 2>{});
        case 3:
            return action(std::integral_constant<int, 3>{});
        case 4:
            return action(std::integral_constant<int, 4>{});
        case 5:
            return action(std::integral_constant<int, 5>{});
        default:
            return action(std::integral_constant<int, 6>{});
    }
}

}  // namespace ziggurat::kernels::tile
