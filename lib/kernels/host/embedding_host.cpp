#include <algorithm>
#include <cstdint>

#include "base/contract.hpp"
#include "kernels/embedding.hpp"
#include "kernels/host/dropout_host.hpp"
#include "kernels/host/kernel_backend_host.hpp"
#include "kernels/host/rows_host.hpp"
#include "tensor/bfloat16.hpp"

namespace ziggurat::kernels::host {
namespace {

using tensor::TensorRef;

using Indices = TensorRef<const std::int32_t, 1>;

bool are_rows_of(Indices indices, std::int64_t num_rows) {
    return std::all_of(indices.data, indices.data + indices.extent(0),
                       [=](std::int32_t index) { return index >= 0 && index < num_rows; });
}

template <class T>
void add_rows(const T* a, const T* b, T* to, std::int64_t width) {
#pragma omp simd
    for (std::int64_t c = 0; c < width; ++c) {
        tensor::store(to[c], float(a[c]) + float(b[c]));
    }
}

/// Computes to = factor * from. A factor of 1 copies.
template <class T>
void copy_scaled(const T* from, float factor, T* to, std::int64_t width) {
    if (factor == 1) {
        std::copy_n(from, width, to);
        return;
    }
#pragma omp simd
    for (std::int64_t c = 0; c < width; ++c) {
        tensor::store(to[c], float(from[c]) * factor);
    }
}

template <class T>
void copy_or_clear(const T* from, T* to, std::int64_t width) {
    if (from != nullptr) {
        std::copy_n(from, width, to);
    } else {
        std::fill_n(to, width, T(0.0f));
    }
}

template <class T>
void accumulate_row(const T* from, float scale, float* to, std::int64_t width) {
#pragma omp simd
    for (std::int64_t c = 0; c < width; ++c) {
        to[c] += scale * float(from[c]);
    }
}

/// Adds columns [begin, end) of every row of d_out to the table, in the order of the rows.
template <class T>
void scatter_strip(Indices indices,
                   TensorRef<const T, 2> d_out,
                   const DropoutRows& dropped,
                   TensorRef<float, 2> d_table,
                   std::int64_t first_row,
                   float scale,
                   std::int64_t begin,
                   std::int64_t end) {
    float kept[DropoutRows::run_length];
    for (std::int64_t first = begin; first < end; first += DropoutRows::run_length) {
        const auto count = std::min(DropoutRows::run_length, end - first);
        for (std::int64_t row = 0; row < d_out.extent(0); ++row) {
            const auto index = indices.data[row] - first_row;
            if (index < 0 || index >= d_table.extent(0)) {
                continue;
            }
            const T* from = d_out.row(row) + first;
            float* to = d_table.row(index) + first;
            if (dropped.drops()) {
                drop_run(from, dropped, row, first, kept, count);
                accumulate_row(kept, scale, to, count);
            } else {
                accumulate_row(from, scale, to, count);
            }
        }
    }
}

/// Adds all rows.
///
/// Each thread has its own columns, so the order of sums does not depend on their number.
template <class T>
void scatter_add(const device::Stream& stream,
                 Indices indices,
                 TensorRef<const T, 2> d_out,
                 const DropoutRows& dropped,
                 TensorRef<float, 2> d_table,
                 std::int64_t first_row,
                 Accumulate accumulate,
                 float scale) {
    if (accumulate == Accumulate::no) {
        for_rows("ziggurat::embedding_zero", d_table.extent(0),
                 [=](std::int64_t row) { std::fill_n(d_table.row(row), d_table.extent(1), 0.0f); });
    }
    constexpr std::int64_t granule = 32;  // columns, whole cache lines in both types
    const auto width = d_out.extent(1);
    const auto granules = (width + granule - 1) / granule;
    const auto strips = std::clamp<std::int64_t>(stream.num_threads(), 1, granules);
    for_rows("ziggurat::embedding_backward", strips, [=](std::int64_t strip) {
        scatter_strip(indices, d_out, dropped, d_table, first_row, scale, strip * granules / strips * granule,
                      std::min(width, (strip + 1) * granules / strips * granule));
    });
}

}  // namespace

template <class T>
void embedding_forward(const device::Stream&,
                       Indices tokens,
                       Indices positions,
                       TensorRef<const T, 2> table,
                       std::int64_t first,
                       std::int64_t vocab,
                       TensorRef<const T, 2> position_table,
                       const DropoutView& dropout,
                       TensorRef<T, 2> out,
                       float table_factor) {
    ZG_EXPECTS(are_rows_of(tokens, vocab));
    const bool has_positions = !position_table.empty();
    if (has_positions) {
        ZG_EXPECTS(are_rows_of(positions, position_table.extent(0)));
    }

    const DropoutRows dropped{dropout};
    for_rows("ziggurat::embedding_forward", out.extent(0), [=](std::int64_t row) {
        const auto width = out.extent(1);
        const auto index = tokens.data[row] - first;
        T* to = out.row(row);
        if (index < 0 || index >= table.extent(0)) {
            copy_or_clear(has_positions ? position_table.row(positions.data[row]) : nullptr, to, width);
        } else if (has_positions && table_factor == 1) {
            add_rows(table.row(index), position_table.row(positions.data[row]), to, width);
        } else {
            copy_scaled(table.row(index), table_factor, to, width);
            if (has_positions) {
                add_rows(static_cast<const T*>(to), position_table.row(positions.data[row]), to, width);
            }
        }
        if (dropped.drops()) {
            drop_row<T>(to, dropped, row, to, width);
        }
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
                        std::int64_t vocab,
                        Accumulate accumulate_table,
                        TensorRef<float, 2> d_position_table,
                        Accumulate accumulate_position_table,
                        float table_scale) {
    const DropoutRows dropped{dropout};
    if (!d_table.empty()) {
        ZG_EXPECTS(are_rows_of(tokens, vocab));
        scatter_add(stream, tokens, d_out, dropped, d_table, first, accumulate_table, table_scale);
    }
    if (!d_position_table.empty()) {
        ZG_EXPECTS(are_rows_of(positions, d_position_table.extent(0)));
        scatter_add(stream, positions, d_out, dropped, d_position_table, 0, accumulate_position_table, 1);
    }
}

template <class T>
void embedding_tile_forward(const device::Stream&,
                            Indices tokens,
                            TensorRef<const T, 2> table,
                            std::int64_t first,
                            TensorRef<T, 2> out,
                            float table_factor) {
    for_rows("ziggurat::embedding_tile_forward", out.extent(0), [=](std::int64_t row) {
        const auto index = tokens.data[row] - first;
        if (0 <= index && index < table.extent(0)) {
            copy_scaled(table.row(index), table_factor, out.row(row), out.extent(1));
        }
    });
}

template <class T>
void embedding_positions_forward(const device::Stream&,
                                 Indices positions,
                                 TensorRef<const T, 2> position_table,
                                 const DropoutView& dropout,
                                 TensorRef<T, 2> out) {
    const bool has_positions = !position_table.empty();
    if (has_positions) {
        ZG_EXPECTS(are_rows_of(positions, position_table.extent(0)));
    }
    const DropoutRows dropped{dropout};
    for_rows("ziggurat::embedding_positions_forward", out.extent(0), [=](std::int64_t row) {
        const auto width = out.extent(1);
        T* to = out.row(row);
        if (has_positions) {
            add_rows(static_cast<const T*>(to), position_table.row(positions.data[row]), to, width);
        }
        if (dropped.drops()) {
            drop_row<T>(to, dropped, row, to, width);
        }
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
    const DropoutRows dropped{dropout};
    scatter_add(stream, indices, d_out, dropped, d_table, first, accumulate, scale);
}

ZG_REGISTER_HOST_KERNEL(embedding_forward<float>);
ZG_REGISTER_HOST_KERNEL(embedding_forward<tensor::bfloat16>);
ZG_REGISTER_HOST_KERNEL(embedding_backward<float>);
ZG_REGISTER_HOST_KERNEL(embedding_backward<tensor::bfloat16>);
ZG_REGISTER_HOST_KERNEL(embedding_tile_forward<float>);
ZG_REGISTER_HOST_KERNEL(embedding_tile_forward<tensor::bfloat16>);
ZG_REGISTER_HOST_KERNEL(embedding_positions_forward<float>);
ZG_REGISTER_HOST_KERNEL(embedding_positions_forward<tensor::bfloat16>);
ZG_REGISTER_HOST_KERNEL(embedding_tile_backward<float>);
ZG_REGISTER_HOST_KERNEL(embedding_tile_backward<tensor::bfloat16>);

}  // namespace ziggurat::kernels::host
