/// Operands of the tiled products, packed into words once per head.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "tensor/bfloat16.hpp"

namespace ziggurat::kernels::tile {

/// Elements of T that make a word: two where the machine multiplies pairs, neighbours along the summed index.
template <class V, class T>
inline constexpr int elements_per_word = V::has_bf16_pairs&& std::is_same_v<T, tensor::bfloat16> ? 2 : 1;

/// Columns of a tile, and rows that packed operands are padded to.
inline constexpr std::int64_t tile_columns = 64;

constexpr std::int64_t divide_up(std::int64_t value, std::int64_t divisor) {
    return (value + divisor - 1) / divisor;
}

/// A row-major block of a larger matrix: `rows` x `columns` elements whose rows lie `step` elements apart.
template <class T>
struct Block {
    const T* data;
    std::int64_t step;
    int rows, columns;
};

/// A left factor: rows of words in panels of `panel_words`.
struct LeftRows {
    const std::uint32_t* data;
    std::int64_t row_step, panel_step;
    int words, panel_words;
};

/// c[r][16 v ..] += sum over p < words of a[r row_step + p word_step] * b[64 p + 16 v ..] for words of T.
template <class V, class T, int R, int N>
[[gnu::always_inline]] inline void multiply(const std::uint32_t* a,
                                            std::int64_t row_step,
                                            std::int64_t word_step,
                                            const std::uint32_t* b,
                                            std::int64_t words,
                                            typename V::Float (&c)[R][N]) {
    if constexpr (elements_per_word<V, T> == 2) {
        V::template multiply_pairs_tile<R, N>(a, row_step, word_step, b, words, c);
    } else {
        V::template multiply_tile<R, N>(a, row_step, word_step, b, words, c);
    }
}

/// The transpose of `x` in panels of 64 of its rows, [panel][word][64], rows padded with zeros:
/// a right factor that sums over the columns of x.
template <class V, class T>
void pack_transposed(const Block<T>& x, std::uint32_t* to) {
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

/// `x` in panels of 64 of its columns, [panel][word of rows][64], both padded with zeros (columns to 16):
/// a right factor that sums over the rows of x.
template <class V, class T>
void pack_columns(const Block<T>& x, std::uint32_t* to) {
    constexpr int pair = elements_per_word<V, T>;
    const auto padded_words = divide_up(x.rows, tile_columns) * tile_columns / pair;
    for (std::int64_t word = 0; word < padded_words; ++word) {
        for (std::int64_t column = 0; column < x.columns; column += 16) {
            const int count = static_cast<int>(x.columns - column);
            const T* from = x.data + word * pair * x.step + column;
            std::uint32_t* at =
                to + (column / tile_columns * padded_words + word) * tile_columns + column % tile_columns;
            if (word * pair >= x.rows) {
                V::store_words(at, V::zero_words());
            } else if constexpr (pair == 2) {
                const bool has_second = word * pair + 1 < x.rows;
                V::store_words(at, V::interleave(from, from + (has_second ? x.step : 0), count, has_second));
            } else {
                V::store_words(at, V::load_words(from, count));
            }
        }
    }
}

/// `x` as rows of words, one after the other, an odd last column padded with zero.
template <class T>
void pack_rows_of_pairs(const Block<T>& x, std::uint32_t* to) {
    const auto words = divide_up(x.columns, 2);
    for (std::int64_t row = 0; row < x.rows; ++row) {
        to[(row + 1) * words - 1] = 0;
        std::memcpy(to + row * words, x.data + row * x.step, static_cast<std::size_t>(x.columns) * sizeof(T));
    }
}

}  // namespace ziggurat::kernels::tile
