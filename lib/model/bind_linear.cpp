/// Products with weights, their bias and their two backward products.
#include "kernels/column_sum.hpp"
#include "model/operands.hpp"
#include "tensor/bfloat16.hpp"

namespace ziggurat::model {

using schedule::Direction;

template <class T>
Kernel bind_linear(Binder<T>& binder, const layout::Phase& phase, Operands& use) {
    const auto stream = binder.stream();
    const auto workspace = use.workspace();
    const auto in = phase.in;
    const auto out = phase.out;

    if (use.op().direction == Direction::backward_input) {
        const auto dy = use.matrix_in<T>(Role::d_output, out);
        const auto* product = &binder.linear(dy.extent(0), in, out, false);
        return [=, w = use.matrix_in<T>(Role::weight, in), dx = use.matrix_out<T>(Role::d_input, in)] {
            product->backward_input(stream, dy, w, dx, workspace);
        };
    }
    if (use.op().direction == Direction::backward_weight) {
        const auto dy = use.matrix_in<T>(Role::d_output, out);
        const auto* product = &binder.linear(dy.extent(0), in, out, false);
        const auto accumulate = use.accumulate();
        const auto db = use.gradient(Role::d_bias);
        if (!use.writes(Role::d_weight)) {
            return [=] { kernels::column_sum<T>(stream, dy, db, accumulate, workspace); };
        }
        const auto x = use.matrix_in<T>(Role::input, in);
        const auto dw = use.matrix_out<float>(Role::d_weight, in);
        if (db.empty()) {
            return [=] { product->backward_weight(stream, x, dy, dw, accumulate, workspace); };
        }
        return [=] {
            product->backward_weight(stream, x, dy, dw, accumulate, workspace);
            kernels::column_sum<T>(stream, dy, db, accumulate, workspace);
        };
    }
    const auto x = use.matrix_in<T>(Role::input, in);
    const bool has_bias = use.reads(Role::bias);
    const auto* product = &binder.linear(x.extent(0), in, out, has_bias);
    const auto bias = has_bias ? use.in<T>(Role::bias) : VectorAddress<const T>{};
    return [=, w = use.matrix_in<T>(Role::weight, in), y = use.matrix_out<T>(Role::output, out)] {
        product->forward(stream, x, w, bias, y, workspace);
    };
}

template Kernel bind_linear<float>(Binder<float>&, const layout::Phase&, Operands&);
template Kernel bind_linear<tensor::bfloat16>(Binder<tensor::bfloat16>&, const layout::Phase&, Operands&);

}  // namespace ziggurat::model
