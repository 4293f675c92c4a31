/// Products with a tile of a weight's rows, and lookups in a tile or block of a table's rows.
#include "kernels/column_sum.hpp"
#include "kernels/columns.hpp"
#include "kernels/elementwise.hpp"
#include "kernels/embedding.hpp"
#include "model/operands.hpp"
#include "tensor/bfloat16.hpp"

namespace ziggurat::model {

using kernels::Accumulate;
using schedule::Direction;

namespace {

/// The columns of a tile as a contiguous matrix at the front of the workspace, and the rest of it.
template <class T>
struct Columns {
    TensorAddress<T, 2> matrix;
    VectorAddress<std::byte> rest;

    Columns(VectorAddress<std::byte> workspace, std::int64_t rows, std::int64_t width)
        : matrix{workspace.matrix_of<T>(rows, width)} {
        const auto used = (rows * width * static_cast<std::int64_t>(sizeof(T)) + 63) / 64 * 64;
        rest = workspace.part(used, workspace.size() - used);
    }
};

}  // namespace

template <class T>
Kernel bind_linear_tile(Binder<T>& binder, const layout::Phase& phase, Operands& use) {
    const auto stream = binder.stream();
    const auto in = phase.in;
    const auto first = use.op().column_begin;
    const auto width = use.op().column_end - first;

    if (use.op().direction == Direction::backward_input) {
        const auto dy = use.matrix_in<T>(Role::d_output, phase.out);
        const auto* product = &binder.linear({dy.extent(0), in, width, false, true});
        const Columns<T> columns{use.workspace(), dy.extent(0), width};
        const auto w = use.matrix_in<T>(Role::weight, in);
        const auto sum = use.matrix_out<float>(Role::d_input_sum, in);
        const auto accumulate = use.reads(Role::d_input_sum) ? Accumulate::yes : Accumulate::no;
        const auto dx =
            use.writes(Role::d_input) ? use.matrix_out<T>(Role::d_input, in) : TensorAddress<T, 2>{};
        return [=] {
            kernels::take_columns<T>(stream, dy, first, columns.matrix);
            product->backward_input_sum(stream, columns.matrix, w, sum, accumulate, columns.rest);
            if (!dx.empty()) {
                kernels::convert<float, T>(stream, sum.flat(), dx.flat());
            }
        };
    }
    if (use.op().direction == Direction::backward_weight) {
        const auto dy = use.matrix_in<T>(Role::d_output, phase.out);
        const auto* product = &binder.linear({dy.extent(0), in, width, false, true});
        const Columns<T> columns{use.workspace(), dy.extent(0), width};
        const auto accumulate = use.accumulate();
        const auto db = use.gradient(Role::d_bias);
        const auto dw = use.gradient(Role::d_weight, in);
        const auto x = dw.empty() ? TensorAddress<const T, 2>{} : use.matrix_in<T>(Role::input, in);
        return [=] {
            kernels::take_columns<T>(stream, dy, first, columns.matrix);
            if (!dw.empty()) {
                product->backward_weight(stream, x, columns.matrix, dw, accumulate, columns.rest);
            }
            if (!db.empty()) {
                kernels::column_sum<T>(stream, columns.matrix, db, accumulate, columns.rest);
            }
        };
    }
    const auto x = use.matrix_in<T>(Role::input, in);
    const bool has_bias = use.reads(Role::bias);
    const auto* product = &binder.linear({x.extent(0), in, width, has_bias, true});
    const auto bias = has_bias ? use.in<T>(Role::bias) : VectorAddress<const T>{};
    const Columns<T> columns{use.workspace(), x.extent(0), width};
    return [=, w = use.matrix_in<T>(Role::weight, in), y = use.matrix_out<T>(Role::output, phase.out)] {
        product->forward(stream, x, w, bias, columns.matrix, columns.rest);
        kernels::put_columns<T>(stream, columns.matrix, first, y);
    };
}

template <class T>
Kernel bind_embedding_tile(Binder<T>& binder, const layout::Phase& phase, Operands& use) {
    const auto stream = binder.stream();
    const auto width = binder.stream_width();
    const bool is_tile = use.op().column_end > 0;
    // Tiles are rows of the rank's slice; blocks of a grid are rows of the whole table.
    const bool is_of_slice = is_tile && !phase.is_of_grid;
    const auto in_slice = is_of_slice ? binder.first_of_slice(binder.spec().model.vocab_padded) : 0;
    const auto first = in_slice + use.op().column_begin;
    const auto indices = use.in<std::int32_t>(is_tile ? Role::tokens : Role::positions);
    const bool is_forward =
        use.op().direction == Direction::forward || use.op().direction == Direction::recompute;
    const bool drops = phase.has_dropout && !(is_forward && is_tile);
    const auto dropout = binder.dropout(use, drops, -1, dropout_embedding);
    const auto factor = binder.embedding_factor();
    if (is_forward && is_tile) {
        return
            [=, table = use.matrix_in<T>(Role::table, width), out = use.matrix_out<T>(Role::output, width)] {
                kernels::embedding_tile_forward<T>(stream, indices, table, first, out, factor);
            };
    }
    if (is_forward) {
        const auto learned = use.reads(Role::position_table) ? use.matrix_in<T>(Role::position_table, width)
                                                             : TensorAddress<const T, 2>{};
        return [=, out = use.matrix_out<T>(Role::output, width)] {
            kernels::embedding_positions_forward<T>(stream, indices, learned, dropout, out);
        };
    }
    const auto d_out = use.matrix_in<T>(Role::d_output, width);
    const auto d_table = use.gradient(is_tile ? Role::d_table : Role::d_position_table, width);
    const auto accumulate = use.accumulate();
    const auto scale = is_tile ? static_cast<float>(binder.spec().model.embedding_gradient) * factor : 1.0f;
    return [=] {
        kernels::embedding_tile_backward<T>(stream, indices, first, d_out, dropout, d_table, accumulate,
                                            scale);
    };
}

#define ZG_INSTANTIATE(T)                                                             \
    template Kernel bind_linear_tile<T>(Binder<T>&, const layout::Phase&, Operands&); \
    template Kernel bind_embedding_tile<T>(Binder<T>&, const layout::Phase&, Operands&);
ZG_INSTANTIATE(float)
ZG_INSTANTIATE(tensor::bfloat16)
#undef ZG_INSTANTIATE

}  // namespace ziggurat::model
