/// Tiled products of a linear layer.
///
/// Used if oneDNN's products are slower, or if their bits depend on threads or rows.
#pragma once

#include <algorithm>
#include <cstring>

#include "kernels/host/rows_host.hpp"
#include "kernels/linear_products.hpp"
#include "kernels/tile/attention_head.hpp"

namespace ziggurat::kernels::host {

/// A factor of a product: element (i, j) is data[i * row_step + j * column_step].
///
/// One of the steps is 1.
template <class T>
struct Factor {
    const T* data;
    std::int64_t row_step, column_step;

    const T* at(std::int64_t row, std::int64_t column) const {
        return data + row * row_step + column * column_step;
    }
};

/// A product result[rows, columns] = left[rows, depth] right[depth, columns] in blocks of the result.
///
/// Numerics: sums in float along ascending depth, independent of the block of an element
/// \param V  vector operations in which a word is one float
template <class V, class T>
class TiledProduct {
  public:
    static constexpr std::int64_t block_rows = 960, block_columns = 256, block_depth = 256;
    static constexpr std::int64_t sums_step = block_rows * tile::tile_columns;
    static constexpr int left_step = 8;  ///< from one column of a packed left factor to the next
    static_assert(left_step >= tile::tile_rows);
    static constexpr std::int64_t left_words = left_step * block_depth;  ///< of the rows of a tile
    /// Tiles packed at a time, because their columns are on pages far apart.
    static constexpr int strip_tiles = 4;
    static constexpr std::int64_t scratch_bytes =
        (block_rows * block_columns + block_columns * block_depth + strip_tiles * left_words) * 4;

    TiledProduct(Factor<T> left, Factor<T> right, std::int64_t rows, std::int64_t columns, std::int64_t depth)
        : left_{left}, right_{right}, rows_{rows}, columns_{columns}, depth_{depth} {}

    /// Calls write(row, column, sums, count) for every range of at most 16 columns of the result.
    template <class Write>
    void run(int num_threads, std::byte* scratch, const Write& write) const {
        const auto column_blocks = divide_up(columns_, block_columns);
        const auto step = rows_of_block(num_threads, column_blocks);
        const auto blocks = divide_up(rows_, step) * column_blocks;
        for_items_of_workers("ziggurat::tiled_product", blocks, num_threads, [&](auto& items, int worker) {
            tile::Scratch mine{scratch + worker * scratch_bytes, scratch_bytes};
            auto* sums = mine.take<float>(block_rows * block_columns);
            auto* right = mine.take<std::uint32_t>(block_columns * block_depth);
            auto* left = mine.take<std::uint32_t>(strip_tiles * left_words);
            for (auto block = items.next(); block >= 0; block = items.next()) {
                const auto row = block / column_blocks * step;
                const auto column = block % column_blocks * block_columns;
                const auto rows = std::min(step, rows_ - row);
                const auto columns = std::min(block_columns, columns_ - column);
                multiply(row, column, rows, static_cast<int>(columns), sums, right, left);
                for (std::int64_t r = 0; r < rows; ++r) {
                    for (std::int64_t c = 0; c < columns; c += V::lanes) {
                        const float* from = sums + c / tile::tile_columns * sums_step +
                                            r * tile::tile_columns + c % tile::tile_columns;
                        write(row + r, column + c, V::load(from), static_cast<int>(columns - c));
                    }
                }
            }
        });
    }

  private:
    /// Returns the number of rows of a block.
    ///
    /// It is the largest number that fits, but leaves each thread several blocks, to balance the load.
    std::int64_t rows_of_block(int num_threads, std::int64_t column_blocks) const {
        constexpr std::int64_t min_rows = 240;  // fewer rows do not amortise packing their right factor
        if (num_threads == 1) {
            return block_rows;
        }
        const auto wanted = divide_up(std::int64_t{4} * num_threads, column_blocks);
        const auto rows = divide_up(divide_up(rows_, wanted), tile::tile_rows) * tile::tile_rows;
        return std::clamp(rows, min_rows, block_rows);
    }

    void multiply(std::int64_t row,
                  std::int64_t column,
                  std::int64_t rows,
                  int columns,
                  float* sums,
                  std::uint32_t* right,
                  std::uint32_t* left) const {
        std::memset(sums, 0, static_cast<std::size_t>(block_rows * block_columns) * sizeof(float));
        for (std::int64_t at = 0; at < depth_; at += block_depth) {
            const int depth = static_cast<int>(std::min(block_depth, depth_ - at));
            const auto panel_step = pack_right(at, column, depth, columns, right);
            constexpr std::int64_t strip_rows = strip_tiles * tile::tile_rows;
            for (std::int64_t first = 0; first < rows; first += strip_rows) {
                const auto end = std::min(rows, first + strip_rows);
                pack_left(row + first, at, static_cast<int>(end - first), depth, left);
                for (auto r = first; r < end; r += tile::tile_rows) {
                    const auto* from = left + (r - first) / tile::tile_rows * left_words;
                    float* to = sums + r * tile::tile_columns;
                    if (left_.column_step == 1) {
                        tile::accumulate_rows<V, float, block_depth, 1, tile::tile_rows>(
                            from, right, panel_step, depth, to, sums_step, columns);
                    } else {
                        tile::accumulate_rows<V, float, 1, left_step, tile::tile_rows>(
                            from, right, panel_step, depth, to, sums_step, columns);
                    }
                }
            }
        }
    }

    /// Packs into panels [64 columns][depth][64]; returns the distance between panels.
    std::int64_t pack_right(
        std::int64_t at, std::int64_t column, int depth, int columns, std::uint32_t* to) const {
        const T* from = right_.at(at, column);
        if (right_.column_step == 1) {
            tile::pack_columns<V>(tile::PackSource<T>{from, right_.row_step, depth, columns}, to);
            return divide_up(depth, tile::tile_columns) * tile::tile_columns * tile::tile_columns;
        }
        tile::pack_transposed<V>(tile::PackSource<T>{from, right_.column_step, columns, depth}, to);
        return depth * tile::tile_columns;
    }

    /// Packs rows of tiles, [tile][left_words] floats each.
    ///
    /// Tiles are rows [6][block_depth] or columns [block_depth][left_step], like the source. Missing rows are
    /// zeros.
    void pack_left(std::int64_t row, std::int64_t at, int rows, int depth, std::uint32_t* to) const {
        auto* floats = reinterpret_cast<float*>(to);
        const T* from = left_.at(row, at);
        const auto padded_rows = divide_up(rows, tile::tile_rows) * tile::tile_rows;
        if (left_.column_step == 1) {
            for (int r = 0; r < padded_rows; ++r) {
                float* words = floats + r / tile::tile_rows * left_words + r % tile::tile_rows * block_depth;
                for (int d = 0; d < depth; d += V::lanes) {
                    V::store(words + d, r < rows ? V::load_elements(from + r * left_.row_step + d, depth - d)
                                                 : V::zero());
                }
            }
            return;
        }
        for (int d = 0; d < depth; ++d) {
            for (int r = 0; r < padded_rows; r += tile::tile_rows) {
                const auto words =
                    V::load_elements(from + d * left_.column_step + r, std::min(rows - r, tile::tile_rows));
                V::store_elements(floats + r / tile::tile_rows * left_words + d * left_step, words,
                                  left_step);
            }
        }
    }

    Factor<T> left_, right_;
    std::int64_t rows_, columns_, depth_;
};

/// Products of a layer. A `packed` weight is a plain copy; products convert blocks of it to panels.
template <class V, class T>
class TiledProducts final : public HostProducts<T> {
  public:
    TiledProducts(const LinearShape& shape, int num_threads) : shape_{shape}, num_threads_{num_threads} {}

    std::int64_t packed_bytes(Packing) const noexcept override {
        return shape_.in * shape_.out * static_cast<std::int64_t>(sizeof(T));
    }
    std::int64_t scratch_bytes() const noexcept override {
        return num_threads_ * TiledProduct<V, T>::scratch_bytes;
    }
    std::int64_t weight_scratch_bytes() const noexcept override { return scratch_bytes(); }

    void pack(Packing, const T* w, std::byte* packed) const override {
        const auto row_bytes = static_cast<std::size_t>(shape_.in) * sizeof(T);
        for_rows("ziggurat::copy_weight", shape_.out, [&](std::int64_t row) {
            std::memcpy(packed + row * static_cast<std::int64_t>(row_bytes), w + row * shape_.in, row_bytes);
        });
    }

    void forward(
        const T* x, const std::byte* packed, const T* bias, T* y, std::byte* scratch) const override {
        const auto [rows, in, out, has_bias, is_tile, with_gelu, is_in_place] = shape_;
        const TiledProduct<V, T> product{{x, in, 1}, {weight(packed), 1, in}, rows, out, in};
        product.run(num_threads_, scratch, [&](auto row, auto column, typename V::Float sums, int count) {
            const auto shift = bias == nullptr ? V::zero() : V::load_elements(bias + column, count);
            V::store_elements(y + row * shape_.out + column, V::add(sums, shift), count);
        });
    }

    void backward_input(const T* dy, const std::byte* packed, T* dx, std::byte* scratch) const override {
        const auto [rows, in, out, has_bias, is_tile, with_gelu, is_in_place] = shape_;
        const TiledProduct<V, T> product{{dy, out, 1}, {weight(packed), in, 1}, rows, in, out};
        product.run(num_threads_, scratch, [&](auto row, auto column, typename V::Float sums, int count) {
            V::store_elements(dx + row * shape_.in + column, sums, count);
        });
    }

    void backward_input_sum(const T* dy,
                            const std::byte* packed,
                            float* dx,
                            Accumulate accumulate,
                            std::byte* scratch) const override {
        const auto [rows, in, out, has_bias, is_tile, with_gelu, is_in_place] = shape_;
        const TiledProduct<V, T> product{{dy, out, 1}, {weight(packed), in, 1}, rows, in, out};
        product.run(num_threads_, scratch, [&](auto row, auto column, typename V::Float sums, int count) {
            float* to = dx + row * shape_.in + column;
            const auto before = accumulate == Accumulate::yes ? V::load_elements(to, count) : V::zero();
            V::store_elements(to, V::add(before, sums), count);
        });
    }

    void backward_weight(
        const T* x, const T* dy, float* dw, Accumulate accumulate, std::byte* scratch) const override {
        const auto [rows, in, out, has_bias, is_tile, with_gelu, is_in_place] = shape_;
        const TiledProduct<V, T> product{{dy, 1, out}, {x, in, 1}, out, in, rows};
        product.run(num_threads_, scratch, [&](auto row, auto column, typename V::Float sums, int count) {
            float* to = dw + row * shape_.in + column;
            const auto before = accumulate == Accumulate::yes ? V::load_elements(to, count) : V::zero();
            V::store_elements(to, V::add(before, sums), count);
        });
    }

  private:
    static const T* weight(const std::byte* packed) { return reinterpret_cast<const T*>(packed); }

    LinearShape shape_;
    int num_threads_;
};

}  // namespace ziggurat::kernels::host
