/// Products of a linear layer of bfloat16 for processors with dot products of pairs.
///
/// Tiles have 6 rows and 64 columns; weights are packed in panels.
#pragma once

#include <algorithm>

#include "kernels/host/rows_host.hpp"
#include "kernels/linear_products.hpp"
#include "kernels/tile/pair_block.hpp"

namespace ziggurat::kernels::host {

/// A right factor [depth, columns] in panels of 64 columns: [panel][pair of the depth][64 columns].
///
/// Missing elements are zeros.
struct Panels {
    const std::uint32_t* words;
    std::int64_t step;  ///< words from one panel to the next

    const std::uint32_t* at(std::int64_t pair, std::int64_t column) const {
        return words + column / tile::tile_columns * step + pair * tile::tile_columns;
    }
};

/// Computes result[rows, columns] = left[rows, depth] right[depth, columns] in blocks of the result.
///
/// Numerics: sums in float along ascending depth, independent of the block or tile of an element
template <class V>
class PairProduct {
  public:
    using T = tensor::bfloat16;
    /// Together with one panel, a block of the left factor fills an L2 cache of 1 MiB.
    static constexpr std::int64_t block_rows = 240, block_columns = 64, block_depth = 1024;

    std::int64_t rows, columns, depth;
    Panels right;
    std::int64_t columns_at_once = block_columns;

    /// Computes all blocks of the result.
    ///
    /// For each block it calls left(worker, row, rows, at, depth) for the rows of its factor, in blocks of
    /// depth, and result_of(worker, row, column) for its destination.
    template <class Left, class ResultOf>
    void run(int num_threads, Accumulate accumulate, const Left& left, const ResultOf& result_of) const {
        const auto column_blocks = divide_up(columns, columns_at_once);
        const auto step = rows_of_block(num_threads, column_blocks);
        const auto blocks = divide_up(rows, step) * column_blocks;
        for_items_of_workers("ziggurat::pair_product", blocks, num_threads, [&](auto& items, int worker) {
            for (auto block = items.next(); block >= 0; block = items.next()) {
                const auto row = block / column_blocks * step;
                const auto column = block % column_blocks * columns_at_once;
                const auto count = std::min(step, rows - row);
                const auto end = std::min(columns_at_once, columns - column);
                const tile::Result result = result_of(worker, row, column);
                for (std::int64_t at = 0; at < depth; at += block_depth) {
                    const auto length = std::min(block_depth, depth - at);
                    const tile::PairRows from = left(worker, row, count, at, length);
                    const auto to = at + length < depth ? result.without_rounding() : result;
                    const bool is_first = at == 0 && accumulate == Accumulate::no;
                    for (std::int64_t c = 0; c < end; c += tile::tile_columns) {
                        tile::PairBlock<V>::multiply(from, count, right.at(at / 2, column + c), length,
                                                     to.at(0, c), is_first);
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
        constexpr std::int64_t min_rows = 60;  // fewer rows do not amortise loading a panel
        if (num_threads == 1) {
            return block_rows;
        }
        const auto wanted = divide_up(std::int64_t{4} * num_threads, column_blocks);
        const auto share = divide_up(divide_up(rows, wanted), tile::tile_rows) * tile::tile_rows;
        return std::clamp(share, min_rows, block_rows);
    }
};

/// \param V  vector operations in which a word is a pair
template <class V>
class PairProducts final : public HostProducts<tensor::bfloat16> {
  public:
    using T = tensor::bfloat16;

    PairProducts(const LinearShape& shape, int num_threads) : shape_{shape}, num_threads_{num_threads} {}

    std::int64_t packed_bytes(Packing packing) const noexcept override {
        return 4 * (packing == Packing::forward ? size_of_weight().transposed() : size_of_weight().columns());
    }
    std::int64_t scratch_bytes() const noexcept override { return num_threads_ * sums_bytes; }
    std::int64_t weight_scratch_bytes() const noexcept override {
        return 4 * size_of_run().columns() + num_threads_ * left_bytes;
    }

    void pack(Packing packing, const T* w, std::byte* packed) const override {
        auto* to = reinterpret_cast<std::uint32_t*>(packed);
        const auto panels = [&](std::int64_t count, std::int64_t step, const auto& pack_panel) {
            for_rows("ziggurat::pack_weight", divide_up(count, tile::tile_columns), [&](std::int64_t panel) {
                const auto first = panel * tile::tile_columns;
                pack_panel(first, static_cast<int>(std::min(tile::tile_columns, count - first)),
                           to + panel * step);
            });
        };
        const auto [rows, in, out, has_bias, is_tile, with_gelu, is_in_place] = shape_;
        if (packing == Packing::forward) {
            panels(out, size_of_weight().words_per_row * tile::tile_columns,
                   [&, in = in](auto first, int count, auto* panel) {
                       tile::pack_transposed<V>(
                           tile::PackSource<T>{w + first * in, in, count, static_cast<int>(in)}, panel);
                   });
        } else {
            panels(in, size_of_weight().words_per_panel,
                   [&, in = in, out = out](auto first, int count, auto* panel) {
                       tile::pack_columns<V>(tile::PackSource<T>{w + first, in, static_cast<int>(out), count},
                                             panel);
                   });
        }
    }

    void forward(
        const T* x, const std::byte* packed, const T* bias, T* y, std::byte* scratch) const override {
        const auto step = size_of_weight().words_per_row * tile::tile_columns;
        multiply_and_round({x, shape_.in}, {words(packed), step}, shape_.in, shape_.out, bias, y, scratch);
    }

    void backward_input(const T* dy, const std::byte* packed, T* dx, std::byte* scratch) const override {
        multiply_and_round({dy, shape_.out}, {words(packed), size_of_weight().words_per_panel}, shape_.out,
                           shape_.in, nullptr, dx, scratch);
    }

    void backward_input_sum(
        const T* dy, const std::byte* packed, float* dx, Accumulate accumulate, std::byte*) const override {
        const auto [rows, in, out, has_bias, is_tile, with_gelu, is_in_place] = shape_;
        const PairProduct<V> product{rows, in, out, {words(packed), size_of_weight().words_per_panel}};
        product.run(num_threads_, accumulate, as_it_lies({dy, out}), in_place(dx));
    }

    void backward_weight(
        const T* x, const T* dy, float* dw, Accumulate accumulate, std::byte* scratch) const override {
        for (std::int64_t row = 0; row < shape_.rows; row += PairProduct<V>::block_depth) {
            const auto rows = std::min(PairProduct<V>::block_depth, shape_.rows - row);
            add_run(x + row * shape_.in, dy + row * shape_.out, rows, dw,
                    row == 0 ? accumulate : Accumulate::yes, scratch);
        }
    }

  private:
    using Product = PairProduct<V>;
    /// Distance between rows of a transposed left factor.
    ///
    /// Not a power of two, which would map to few cache sets.
    static constexpr std::int64_t left_step = Product::block_depth + 32;
    static constexpr std::int64_t left_bytes = Product::block_rows * left_step * 2;
    static constexpr std::int64_t sums_bytes = Product::block_rows * Product::block_columns * 4;
    static_assert(Product::block_depth == max_rows_per_sum);

    static const std::uint32_t* words(const std::byte* packed) {
        return reinterpret_cast<const std::uint32_t*>(packed);
    }
    tile::PackedSize<V, T> size_of_weight() const { return {shape_.out, shape_.in}; }
    /// Returns the size of the packed rows of x over which one range of the weight's gradient sums.
    tile::PackedSize<V, T> size_of_run() const {
        return {std::min(shape_.rows, Product::block_depth), shape_.in};
    }

    static auto as_it_lies(tile::PairRows left) {
        return [left](int, auto row, auto, auto at, auto) {
            return tile::PairRows{left.data + row * left.step + at, left.step};
        };
    }
    auto in_place(float* sums) const {
        return [=, in = shape_.in](int, auto row, auto column) {
            return tile::Result{sums, in, in}.at(row, column);
        };
    }

    /// Computes result[rows, columns] = left[rows, depth] right (+ bias).
    void multiply_and_round(tile::PairRows left,
                            Panels right,
                            std::int64_t depth,
                            std::int64_t columns,
                            const T* bias,
                            T* result,
                            std::byte* scratch) const {
        const Product product{shape_.rows, columns, depth, right};
        product.run(num_threads_, Accumulate::no, as_it_lies(left), [&](int worker, auto row, auto column) {
            return tile::Result{reinterpret_cast<float*>(scratch + worker * sums_bytes),
                                Product::block_columns,
                                columns - column,
                                result + row * columns + column,
                                columns,
                                bias == nullptr ? nullptr : bias + column};
        });
    }

    /// Computes dw = dy^T x, stored or accumulated, for few enough rows to pack them all at once.
    void add_run(const T* x,
                 const T* dy,
                 std::int64_t rows,
                 float* dw,
                 Accumulate accumulate,
                 std::byte* scratch) const {
        const auto in = shape_.in, out = shape_.out;
        const tile::PackedSize<V, T> size{rows, in};
        auto* right = reinterpret_cast<std::uint32_t*>(scratch);
        for_rows("ziggurat::pack_activations", divide_up(in, tile::tile_columns), [&](std::int64_t panel) {
            const auto first = panel * tile::tile_columns;
            const auto count = static_cast<int>(std::min(tile::tile_columns, in - first));
            tile::pack_columns<V>(tile::PackSource<T>{x + first, in, static_cast<int>(rows), count},
                                  right + panel * size.words_per_panel);
        });
        std::byte* rest = scratch + 4 * size_of_run().columns();
        const Product product{out, in, rows, {right, size.words_per_panel}, in};
        product.run(
            num_threads_, accumulate,
            [&](int worker, auto row, auto count, auto, auto) {
                auto* to = reinterpret_cast<T*>(rest + worker * left_bytes);
                turn({dy + row, out}, rows, count, to);
                return tile::PairRows{to, left_step};
            },
            in_place(dw));
    }

    /// Writes the transpose of `from` [rows, columns], with rows `left_step` apart.
    ///
    /// If the number of elements is odd, the last one is paired with a zero.
    static void turn(tile::PairRows from, std::int64_t rows, std::int64_t columns, T* to) {
        constexpr int rows_at_once = 32, lanes = V::lanes;
        for (std::int64_t row = 0; row < rows; row += rows_at_once) {
            for (std::int64_t column = 0; column < columns; column += lanes) {
                const auto count = static_cast<int>(std::min<std::int64_t>(columns - column, lanes));
                typename V::Word block[lanes];
#pragma GCC unroll 16
                for (int i = 0; i < lanes; ++i) {
                    const auto at = row + 2 * i;
                    const bool has_high = at + 1 < rows;
                    const T* low = from.data + at * from.step + column;
                    const T* high = low + from.step;
                    __builtin_prefetch(low + rows_at_once * from.step);
                    __builtin_prefetch(high + rows_at_once * from.step);
                    block[i] = at < rows ? V::interleave(low, high, count, has_high) : V::zero_words();
                }
                V::transpose(block);
#pragma GCC unroll 16
                for (int i = 0; i < lanes; ++i) {
                    if (i < count) {
                        V::store_words(reinterpret_cast<std::uint32_t*>(to + (column + i) * left_step + row),
                                       block[i]);
                    }
                }
            }
        }
    }

    LinearShape shape_;
    int num_threads_;
};

}  // namespace ziggurat::kernels::host
