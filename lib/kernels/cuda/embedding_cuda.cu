#include "kernels/embedding.hpp"

#include <cmath>

#include "kernels/cuda/dropout_cuda.hpp"
#include "kernels/cuda/launch_cuda.hpp"
#include "kernels/cuda/map_cuda.hpp"
#include "kernels/cuda/row_packs_cuda.hpp"
#include "kernels/cuda/scatter_rows_cuda.hpp"

namespace ziggurat::kernels::cuda {
namespace {

using tensor::TensorRef;

using Indices = TensorRef<const std::int32_t, 1>;

/// A table, or a slice of its rows.
template <class T>
struct TablePart {
    const T* data;       ///< nullptr: no table
    std::int64_t rows;   ///< rows in this slice
    std::int64_t first;  ///< number of its first row
    std::int64_t all;    ///< rows of the whole table, which bound valid indices
};

template <class T>
TablePart<T> part_of(TensorRef<const T, 2> table, std::int64_t first, std::int64_t all) {
    return {table.empty() ? nullptr : table.data, table.extent(0), first, all};
}

/// Returns the position of `index` in the slice; -1 if it is not in it.
template <class Table>
__device__ std::int64_t place_in(const Table& table, std::int64_t index) {
    const auto element_position = index - table.first;
    return element_position >= 0 && element_position < table.rows ? element_position : -1;
}

template <class Table>
__device__ bool is_index_of(const Table& table, std::int64_t index) {
    return index >= 0 && index < table.all;
}

struct Looked {
    std::int64_t rows, width;
    bool is_aligned;
};

/// Multiplies a pack by a factor and rounds the products to T. A factor of 1 changes nothing.
template <class T>
__device__ void scale_rounded(float factor, float (&values)[pack]) {
#pragma unroll
    for (int i = 0; i < pack; ++i) {
        T product;
        tensor::store(product, values[i] * factor);
        values[i] = float(product);
    }
}

/// Computes to = (to, or the token's scaled table row) + the position's table row, then dropout.
template <bool is_shifted, class T>
__global__ void __launch_bounds__(256) look_up(Looked of,
                                               // nullptr: `to` already holds the token's row
                                               const std::int32_t* tokens,
                                               TablePart<T> table,
                                               const std::int32_t* positions,
                                               TablePart<T> position_table,
                                               DropoutView dropout,
                                               float table_factor,
                                               T* to) {
    const auto part = row_pack(of.width);
    if (part.row >= of.rows) {
        return;
    }
    const auto at = part.row * of.width + part.begin;
    float value[pack] = {};
    bool is_present = true;
    bool is_valid = true;  // if false, the row becomes NaN, which shows in the loss
    if (tokens == nullptr) {
        load_some(static_cast<const T*>(to) + at, part.count, of.is_aligned, value);
    } else {
        const auto element_position = place_in(table, tokens[part.row]);
        is_valid = is_index_of(table, tokens[part.row]);
        is_present = element_position >= 0;
        if (is_present) {
            load_some(table.data + element_position * of.width + part.begin, part.count, of.is_aligned,
                      value);
            scale_rounded<T>(table_factor, value);
        }
    }
    if (position_table.data != nullptr) {
        const auto element_position = place_in(position_table, positions[part.row]);
        is_valid = is_valid && is_index_of(position_table, positions[part.row]);
        float more[pack] = {};
        if (element_position >= 0) {
            load_some(position_table.data + element_position * of.width + part.begin, part.count,
                      of.is_aligned, more);
        }
#pragma unroll
        for (int i = 0; i < pack; ++i) {
            T sum;  // rounded before dropout, as in a lookup by tiles of the table
            tensor::store(sum, is_present ? value[i] + more[i] : more[i]);
            value[i] = float(sum);
        }
    }
    const DropoutPacks<is_shifted> dropped{dropout};
    if (dropped.drops()) {
        float factor[pack];
        dropped.factors(part.row, part.begin, factor);
#pragma unroll
        for (int i = 0; i < pack; ++i) {
            value[i] *= factor[i];
        }
    }
    if (!is_valid) {
#pragma unroll
        for (int i = 0; i < pack; ++i) {
            value[i] = NAN;
        }
    }
    store_some(to + at, part.count, of.is_aligned, value);
}

/// Copies scaled rows of the table to the rows of `to` whose tokens select them.
///
/// The other rows do not change.
template <class T>
__global__ void __launch_bounds__(256)
    look_up_some(Looked of, const std::int32_t* tokens, TablePart<T> table, float table_factor, T* to) {
    const auto part = row_pack(of.width);
    if (part.row >= of.rows) {
        return;
    }
    const auto element_position = tokens[part.row] - table.first;
    if (element_position < 0 || element_position >= table.rows) {
        return;
    }
    float value[pack];
    load_some(table.data + element_position * of.width + part.begin, part.count, of.is_aligned, value);
    scale_rounded<T>(table_factor, value);
    store_some(to + part.row * of.width + part.begin, part.count, of.is_aligned, value);
}

template <class T>
void scatter_add(const device::Stream& stream,
                 Indices indices,
                 TensorRef<const T, 2> d_out,
                 const DropoutView& dropout,
                 TensorRef<float, 2> d_table,
                 std::int64_t first,
                 Accumulate accumulate,
                 float scale) {
    const auto width = d_out.extent(1);
    if (accumulate == Accumulate::no) {
        map(stream, "embedding_backward", Zero{}, d_table.extent(0) * d_table.extent(1), d_table.data);
    }
    const auto rows = d_table.extent(0);
    const ScatterGrid grid{rows, width};
    launch_with_packs(dropout, [&](auto is_shifted) {
        launch_grid(stream, "embedding_backward",
                    {grid.blocks(rows), ScatterGrid::threads, static_cast<int>(sizeof(ScatterMemory))},
                    scatter_rows<is_shifted, T>, AskedRows{indices.data, d_out.extent(0), first, rows}, grid,
                    width, are_rows_aligned(width, d_out.data, d_table.data), d_out.data, dropout, scale,
                    d_table.data);
    });
}

}  // namespace

template <class T>
void embedding_forward(const device::Stream& stream,
                       Indices tokens,
                       Indices positions,
                       TensorRef<const T, 2> table,
                       std::int64_t first,
                       std::int64_t vocab,
                       TensorRef<const T, 2> position_table,
                       const DropoutView& dropout,
                       TensorRef<T, 2> out,
                       float table_factor) {
    const auto width = out.extent(1);
    const Looked of{out.extent(0), width, are_rows_aligned(width, table.data, position_table.data, out.data)};
    launch_with_packs(dropout, [&](auto is_shifted) {
        launch_grid(stream, "embedding_forward", a_thread_each_pack(of.rows, width), look_up<is_shifted, T>,
                    of, tokens.data, part_of(table, first, vocab), positions.data,
                    part_of(position_table, 0, position_table.extent(0)), dropout, table_factor, out.data);
    });
}

template <class T>
void embedding_backward(const device::Stream& stream,
                        Indices tokens,
                        Indices positions,
                        TensorRef<const T, 2> d_out,
                        const DropoutView& dropout,
                        TensorRef<float, 2> d_table,
                        std::int64_t first,
                        std::int64_t /*vocab*/,
                        Accumulate accumulate_table,
                        TensorRef<float, 2> d_position_table,
                        Accumulate accumulate_position_table,
                        float table_scale) {
    if (!d_table.empty()) {
        scatter_add(stream, tokens, d_out, dropout, d_table, first, accumulate_table, table_scale);
    }
    if (!d_position_table.empty()) {
        scatter_add(stream, positions, d_out, dropout, d_position_table, 0, accumulate_position_table, 1);
    }
}

template <class T>
void embedding_tile_forward(const device::Stream& stream,
                            Indices tokens,
                            TensorRef<const T, 2> table,
                            std::int64_t first,
                            TensorRef<T, 2> out,
                            float table_factor) {
    const auto width = out.extent(1);
    const Looked of{out.extent(0), width, are_rows_aligned(width, table.data, out.data)};
    launch_grid(stream, "embedding_tile_forward", a_thread_each_pack(of.rows, width), look_up_some<T>, of,
                tokens.data, part_of(table, first, 0), table_factor, out.data);
}

template <class T>
void embedding_positions_forward(const device::Stream& stream,
                                 Indices positions,
                                 TensorRef<const T, 2> position_table,
                                 const DropoutView& dropout,
                                 TensorRef<T, 2> out) {
    const auto width = out.extent(1);
    const Looked of{out.extent(0), width, are_rows_aligned(width, position_table.data, out.data)};
    launch_with_packs(dropout, [&](auto is_shifted) {
        launch_grid(stream, "embedding_positions_forward", a_thread_each_pack(of.rows, width),
                    look_up<is_shifted, T>, of, static_cast<const std::int32_t*>(nullptr), TablePart<T>{},
                    positions.data, part_of(position_table, 0, position_table.extent(0)), dropout, 1.0F,
                    out.data);
    });
}

template <class T>
void embedding_tile_backward(const device::Stream& stream,
                             Indices indices,
                             std::int64_t first,
                             TensorRef<const T, 2> d_out,
                             const DropoutView& dropout,
                             TensorRef<float, 2> d_table,
                             Accumulate accumulate,
                             float scale) {
    scatter_add(stream, indices, d_out, dropout, d_table, first, accumulate, scale);
}

ZG_REGISTER_CUDA_KERNEL(embedding_forward<float>);
ZG_REGISTER_CUDA_KERNEL(embedding_forward<tensor::bfloat16>);
ZG_REGISTER_CUDA_KERNEL(embedding_backward<float>);
ZG_REGISTER_CUDA_KERNEL(embedding_backward<tensor::bfloat16>);
ZG_REGISTER_CUDA_KERNEL(embedding_tile_forward<float>);
ZG_REGISTER_CUDA_KERNEL(embedding_tile_forward<tensor::bfloat16>);
ZG_REGISTER_CUDA_KERNEL(embedding_positions_forward<float>);
ZG_REGISTER_CUDA_KERNEL(embedding_positions_forward<tensor::bfloat16>);
ZG_REGISTER_CUDA_KERNEL(embedding_tile_backward<float>);
ZG_REGISTER_CUDA_KERNEL(embedding_tile_backward<tensor::bfloat16>);

}  // namespace ziggurat::kernels::cuda
