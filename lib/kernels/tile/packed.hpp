/// Operands of the tiled products, packed into words once per head.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "base/round_up.hpp"
#include "kernels/launch/prefetch.hpp"
#include "tensor/bfloat16.hpp"

namespace ziggurat::kernels::tile {

/// Elements of T per word: two, adjacent along the summed index, if the machine multiplies pairs.
///
/// Otherwise it is one.
template <class V, class T>
inline constexpr int elements_per_word = V::has_bf16_pairs&& std::is_same_v<T, tensor::bfloat16> ? 2 : 1;

/// Columns of a tile; also the multiple to which rows of packed operands are padded.
inline constexpr std::int64_t tile_columns = 64;

/// A row-major block of a larger matrix: `rows` x `columns` elements with rows `step` elements apart.
template <class T>
struct PackSource {
    const T* data;
    std::int64_t step;
    int rows, columns;
};

/// Computes c[r][16 v ..] += sum over p < words of a[r RowStep + p WordStep] * b[64 p + 16 v ..].
template <class V, class T, int RowStep, int WordStep, int R, int N>
[[gnu::always_inline]] inline void multiply(const std::uint32_t* a,
                                            const std::uint32_t* b,
                                            std::int64_t words,
                                            typename V::Float (&c)[R][N]) {
    if constexpr (elements_per_word<V, T> == 2) {
        V::template multiply_pairs_tile<RowStep, WordStep>(a, b, words, c);
    } else {
        V::template multiply_tile<RowStep, WordStep>(a, b, words, c);
    }
}

/// Packs the transpose of `x` in panels of 64 of its rows, [panel][word][64], padded with zero rows.
///
/// The result is a right factor that sums over the columns of x.
template <class V, class T>
void pack_transposed(const PackSource<T>& x, std::uint32_t* to) {
    constexpr int pair = elements_per_word<V, T>;
    const auto words = divide_up(x.columns, pair);
    const auto padded_rows = divide_up(x.rows, tile_columns) * tile_columns;
    for (std::int64_t row = 0; row < padded_rows; row += 16) {
        std::uint32_t* panel = to + row / tile_columns * words * tile_columns + row % tile_columns;
        for (std::int64_t word = 0; word < words; word += 16) {
            typename V::Word block[16];
#pragma GCC unroll 16
            for (int i = 0; i < 16; ++i) {
                const T* from = x.data + (row + i) * x.step + word * pair;
                if (row + i + 16 < x.rows) {
                    __builtin_prefetch(from + 16 * x.step);
                }
                const int count = static_cast<int>(x.columns - word * pair);
                if (row + i >= x.rows) {
                    block[i] = V::zero_words();
                } else if constexpr (pair == 2) {
                    block[i] = V::load_pairs(from, count);
                } else {
                    block[i] = V::load_words(from, count);
                }
            }
            V::transpose(block);
#pragma GCC unroll 16
            for (int i = 0; i < 16; ++i) {
                if (word + i < words) {
                    V::store_words(panel + (word + i) * tile_columns, block[i]);
                }
            }
        }
    }
}

/// Number of rows to prefetch ahead.
///
/// Rows of a head are far apart, so the hardware does not prefetch them.
inline constexpr int prefetched_rows = 12;

/// Packs `x` in panels of 64 of its columns, [panel][word of rows][64].
///
/// Rows and columns are padded with zeros (columns to 16). The result is a right factor that sums over the
/// rows of x.
template <class V, class T>
void pack_columns(const PackSource<T>& x, std::uint32_t* to) {
    constexpr int pair = elements_per_word<V, T>;
    const auto padded_words = divide_up(x.rows, tile_columns) * tile_columns / pair;
    const auto words = divide_up(x.rows, pair);
    for (int panel = 0; panel < x.columns; panel += tile_columns) {
        const int columns = std::min(x.columns - panel, static_cast<int>(tile_columns));
        const T* from = x.data + panel;
        for (std::int64_t word = 0; word < words; ++word) {
            for (int i = 0; i < pair && word * pair + prefetched_rows + i < x.rows; ++i) {
                prefetch(from + (prefetched_rows + i) * x.step, columns);
            }
            for (int column = 0; column < columns; column += 16) {
                if constexpr (pair == 2) {
                    const bool has_second = word * 2 + 1 < x.rows;
                    V::store_words(to + column,
                                   V::interleave(from + column, from + (has_second ? x.step : 0) + column,
                                                 columns - column, has_second));
                } else {
                    V::store_words(to + column, V::load_words(from + column, columns - column));
                }
            }
            from += pair * x.step;
            to += tile_columns;
        }
        std::fill_n(to, (padded_words - words) * tile_columns, 0u);
        to += (padded_words - words) * tile_columns;
    }
}

/// Packs `x` in panels of 64 of its columns, [panel][row][words of 64 elements].
///
/// An odd last column is padded with zero. The result is a left factor that sums over the columns of x. If a
/// word is one float, this is the layout of pack_columns.
template <class V, class T>
void pack_left(const PackSource<T>& x, std::uint32_t* to) {
    if constexpr (elements_per_word<V, T> == 1) {
        pack_columns<V>(x, to);
    } else {
        const auto padded_rows = divide_up(x.rows, tile_columns) * tile_columns;
        for (int panel = 0; panel < x.columns; panel += tile_columns) {
            const int columns = std::min(x.columns - panel, static_cast<int>(tile_columns));
            const T* from = x.data + panel;
            for (std::int64_t row = 0; row < x.rows; ++row) {
                if (row + prefetched_rows < x.rows) {
                    prefetch(from + prefetched_rows * x.step, columns);
                }
                V::store_words(to + row * 32, V::load_pairs(from, columns));
                V::store_words(to + row * 32 + 16, V::load_pairs(from + 32, columns - 32));
                from += x.step;
            }
            to += padded_rows * 32;
        }
    }
}

}  // namespace ziggurat::kernels::tile
