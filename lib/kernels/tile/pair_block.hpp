/// Blocks of bfloat16 products for processors with dot products of pairs.
///
/// Tiles have 6 rows and 64 columns.
#pragma once

#include <algorithm>

#include "kernels/tile/attention_head.hpp"

namespace ziggurat::kernels::tile {

/// A left factor with adjacent elements along the depth and rows `step` elements apart.
struct PairRows {
    const tensor::bfloat16* data;
    std::int64_t step;
};

/// Destination of a product, of which columns [0, columns) exist.
///
/// `sums` are in float, with rows `step` elements apart. If `rounded` is not null, it receives the rounded
/// values after the last summand.
struct Result {
    float* sums;
    std::int64_t step, columns;
    tensor::bfloat16* rounded = nullptr;
    std::int64_t rounded_step = 0;
    const tensor::bfloat16* bias = nullptr;

    Result at(std::int64_t row, std::int64_t column) const {
        return {sums + row * step + column,
                step,
                columns - column,
                rounded == nullptr ? nullptr : rounded + row * rounded_step + column,
                rounded_step,
                bias == nullptr ? nullptr : bias + column};
    }
    Result without_rounding() const { return {sums, step, columns}; }
};

/// Computes result[rows, 64] = (or +=) left[rows, depth] times a panel [pair of the depth][64 columns].
///
/// Missing elements of the panel are zeros.
///
/// Numerics: sums in float along ascending depth, pair by pair; bfloat16 subnormals count as zero
template <class V>
class PairBlock {
  public:
    using Float = typename V::Float;

    static void multiply(PairRows left,
                         std::int64_t rows,
                         const std::uint32_t* panel,
                         std::int64_t depth,
                         const Result& result,
                         bool is_first) {
        for (std::int64_t row = 0; row < rows; row += tile_rows) {
            const auto count = static_cast<int>(std::min<std::int64_t>(rows - row, tile_rows));
            with_rows(count, [&](auto r) {
                multiply_tile<r>({left.data + row * left.step, left.step}, panel, depth, result.at(row, 0),
                                 is_first);
            });
        }
    }

  private:
    /// Multiplies, and prefetches the rows of the next tile and the destination of the sums.
    template <int R>
    [[gnu::noinline]] static void multiply_tile(
        PairRows left, const std::uint32_t* panel, std::int64_t depth, const Result& result, bool is_first) {
        constexpr std::int64_t words_of_line = 16;
        Float tile[R][4];
        begin(result, is_first, tile);
        const auto words = depth / 2;
        for (std::int64_t word = 0; word < words; word += words_of_line) {
#pragma GCC unroll 6
            for (int r = 0; r < R; ++r) {
                __builtin_prefetch(left.data + (tile_rows + r) * left.step + 2 * word);
            }
            const auto line = word / words_of_line;
            if (line >= 4 * R) {
            } else if (result.rounded != nullptr) {
                __builtin_prefetch(result.rounded + line / 4 * result.rounded_step + line % 4 * 16, 1);
            } else {
                __builtin_prefetch(result.sums + (tile_rows + line / 4) * result.step + line % 4 * 16, 1);
            }
            V::multiply_pairs_of_rows(left.data + 2 * word, left.step, panel + word * tile_columns,
                                      std::min(words_of_line, words - word), tile);
        }
        if (depth % 2 != 0) {
            std::uint32_t last[R];
            for (int r = 0; r < R; ++r) {
                last[r] = left.data[r * left.step + depth - 1].bits;
            }
            V::template multiply_pairs_tile<1, 1>(last, panel + words * tile_columns, 1, tile);
        }
        end(result, tile);
    }

    template <int R>
    [[gnu::always_inline]] static void begin(const Result& result, bool is_first, Float (&tile)[R][4]) {
#pragma GCC unroll 6
        for (int r = 0; r < R; ++r) {
#pragma GCC unroll 4
            for (int v = 0; v < 4; ++v) {
                tile[r][v] = is_first ? V::zero()
                                      : V::load_elements(result.sums + r * result.step + 16 * v,
                                                         static_cast<int>(result.columns - 16 * v));
            }
        }
    }

    template <int R>
    [[gnu::always_inline]] static void end(const Result& result, const Float (&tile)[R][4]) {
        const auto left = [&](int v) { return static_cast<int>(result.columns - 16 * v); };
        if (result.rounded == nullptr) {
#pragma GCC unroll 6
            for (int r = 0; r < R; ++r) {
#pragma GCC unroll 4
                for (int v = 0; v < 4; ++v) {
                    V::store_elements(result.sums + r * result.step + 16 * v, tile[r][v], left(v));
                }
            }
            return;
        }
        Float shift[4];
#pragma GCC unroll 4
        for (int v = 0; v < 4; ++v) {
            shift[v] = result.bias == nullptr ? V::zero() : V::load_elements(result.bias + 16 * v, left(v));
        }
#pragma GCC unroll 6
        for (int r = 0; r < R; ++r) {
#pragma GCC unroll 2
            for (int v = 0; v < 4; v += 2) {
                V::store_pairs(result.rounded + r * result.rounded_step + 16 * v,
                               V::pairs(V::add(tile[r][v], shift[v]), V::add(tile[r][v + 1], shift[v + 1])),
                               left(v));
            }
        }
    }
};

}  // namespace ziggurat::kernels::tile
