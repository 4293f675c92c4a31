/// Products with weights, their bias, their adapters and their two backward products.
#include "kernels/column_sum.hpp"
#include "kernels/elementwise.hpp"
#include "kernels/residual.hpp"
#include "layout/families/gated_unit.hpp"
#include "model/adapter_products.hpp"
#include "model/operands.hpp"
#include "tensor/bfloat16.hpp"

namespace ziggurat::model {

using schedule::Direction;
using tensor::bfloat16;

namespace {

/// Binds one summand of a gradient through the blocks of a grid's weight; the last one stores the sum.
template <class T>
Kernel backward_input_sum(Binder<T>& binder, const layout::Phase& phase, Operands& use) {
    const auto stream = binder.stream();
    const auto dy = use.matrix_in<T>(Role::d_output, phase.out);
    const auto w = use.matrix_in<T>(Role::weight, phase.in);
    const auto accumulate = use.reads(Role::d_input_sum) ? kernels::Accumulate::yes : kernels::Accumulate::no;
    const auto sum = use.matrix_out<float>(Role::d_input_sum, phase.in);
    const auto workspace = use.workspace();
    const auto* product = &binder.linear({dy.extent(0), phase.in, phase.out, false, true});
    const auto dx =
        use.writes(Role::d_input) ? use.matrix_out<T>(Role::d_input, phase.in) : TensorAddress<T, 2>{};
    return [=] {
        product->backward_input_sum(stream, dy, w, sum, accumulate, workspace);
        if (!dx.empty()) {
            kernels::convert<float, T>(stream, sum.flat(), dx.flat());
        }
    };
}

/// Binds a product with the gradient of the gated unit before it.
Kernel glu_product(Binder<bfloat16>& binder,
                   const layout::Phase& phase,
                   layout::PhaseKind unit,
                   Operands& use) {
    const auto dy = use.matrix_in<bfloat16>(Role::d_output, phase.out);
    const bool with_output = use.writes(Role::activated);
    const bool is_geglu = unit == layout::PhaseKind::geglu;
    const auto* product =
        &binder.glu_product({.rows = dy.extent(0),
                             .width = phase.in,
                             .out = phase.out,
                             .unit = is_geglu ? kernels::GatedUnit::geglu : kernels::GatedUnit::swiglu,
                             .with_output = with_output});
    return [=, stream = binder.stream(), w = use.matrix_in<bfloat16>(Role::weight, phase.in),
            x = use.matrix_in<bfloat16>(Role::activation_input, 2 * phase.in),
            dx = use.matrix_out<bfloat16>(Role::d_input, 2 * phase.in),
            active = with_output ? use.matrix_out<bfloat16>(Role::activated, phase.in)
                                 : TensorAddress<bfloat16, 2>{},
            workspace = use.workspace()] { product->backward(stream, dy, w, x, dx, active, workspace); };
}

template <class T>
Kernel backward_input(Binder<T>& binder, const layout::Phase& phase, Operands& use) {
    const auto stream = binder.stream();
    if constexpr (std::is_same_v<T, bfloat16>) {
        const auto unit = layout::gated_unit_before(binder.unit_of(use.op()), use.op().phase);
        if (unit && use.reads(Role::activation_input)) {
            return glu_product(binder, phase, *unit, use);
        }
    }
    const auto dy = use.matrix_in<T>(Role::d_output, phase.out);
    const auto w = use.matrix_in<T>(Role::weight, phase.in);
    const auto dx = use.matrix_out<T>(Role::d_input, phase.in);
    const auto workspace = use.workspace();
    if (use.reads(Role::activation_input)) {
        const auto* fused = &binder.linear({dy.extent(0), phase.in, phase.out, false, false, true});
        const auto before = use.matrix_in<T>(Role::activation_input, phase.in);
        return [=] { fused->backward_input_gelu(stream, dy, w, before, dx, workspace); };
    }
    const auto* product = &binder.linear({dy.extent(0), phase.in, phase.out, false});
    if (!use.reads(Role::lora_a)) {
        return [=] { product->backward_input(stream, dy, w, dx, workspace); };
    }
    return [=, adapters = Adapters<T>{binder, phase, use, dy.extent(0)}] {
        product->backward_input(stream, dy, w, dx, workspace);
        adapters.backward_input(dy, dx);
    };
}

/// Binds the gradients of the trained tensors among the weight, the bias and the adapters.
template <class T>
Kernel backward_weight(Binder<T>& binder, const layout::Phase& phase, Operands& use) {
    const auto stream = binder.stream();
    const auto dy = use.matrix_in<T>(Role::d_output, phase.out);
    const auto accumulate = use.accumulate();
    if (use.writes(Role::d_lora_a)) {
        const auto x = use.matrix_in<T>(Role::input, phase.in);
        const auto d_a = use.matrix_out<float>(Role::d_lora_a, phase.in);
        const auto d_b = use.matrix_out<float>(Role::d_lora_b, binder.spec().model.lora.rank);
        return [=, adapters = Adapters<T>{binder, phase, use, dy.extent(0)}] {
            adapters.backward_weight(x, dy, d_a, d_b, accumulate);
        };
    }
    const auto* product = &binder.linear({dy.extent(0), phase.in, phase.out, false});
    const auto workspace = use.workspace();
    const auto db = use.gradient(Role::d_bias);
    if (!use.writes(Role::d_weight)) {
        return [=] { kernels::column_sum<T>(stream, dy, db, accumulate, workspace); };
    }
    const auto x = use.matrix_in<T>(Role::input, phase.in);
    const auto dw = use.matrix_out<float>(Role::d_weight, phase.in);
    if (db.empty()) {
        return [=] { product->backward_weight(stream, x, dy, dw, accumulate, workspace); };
    }
    return [=] {
        product->backward_weight(stream, x, dy, dw, accumulate, workspace);
        kernels::column_sum<T>(stream, dy, db, accumulate, workspace);
    };
}

template <class T>
Kernel forward(Binder<T>& binder, const layout::Phase& phase, Operands& use) {
    const auto stream = binder.stream();
    const auto x = use.matrix_in<T>(Role::input, phase.in);
    const bool has_bias = use.reads(Role::bias);
    const auto bias = has_bias ? use.in<T>(Role::bias) : VectorAddress<const T>{};
    const auto w = use.matrix_in<T>(Role::weight, phase.in);
    const auto y = use.matrix_out<T>(Role::output, phase.out);
    const auto workspace = use.workspace();
    if (use.writes(Role::activated)) {
        const auto* fused = &binder.linear({x.extent(0), phase.in, phase.out, has_bias, false, true});
        const auto active = use.matrix_out<T>(Role::activated, phase.out);
        return [=] { fused->forward_gelu(stream, x, w, bias, y, active, workspace); };
    }
    if (use.reads(Role::addend)) {
        const auto* fused = &binder.linear({x.extent(0), phase.in, phase.out, has_bias});
        const auto addend = use.matrix_in<T>(Role::addend, phase.out);
        return [=] { fused->forward_added(stream, x, w, bias, addend, y, workspace); };
    }
    const auto* product = &binder.linear({.rows = x.extent(0),
                                          .in = phase.in,
                                          .out = phase.out,
                                          .has_bias = has_bias,
                                          .is_in_place = use.has_few_rows()});
    if (!use.reads(Role::lora_a)) {
        return [=] { product->forward(stream, x, w, bias, y, workspace); };
    }
    return [=, adapters = Adapters<T>{binder, phase, use, x.extent(0)}] {
        product->forward(stream, x, w, bias, y, workspace);
        adapters.forward(x, y);
    };
}

/// Binds a product of the adapters on a grid of tensor ranks; they have their own ops.
template <class T>
Kernel grid_adapters(Binder<T>& binder, const layout::Phase& phase, Operands& use) {
    const auto width = std::ssize(phase.adapters) * binder.spec().model.lora.rank;
    const Adapters<T> adapters{binder, phase, use, use.op().row_end - use.op().row_begin};
    if (use.writes(Role::d_lora_a)) {
        return
            [=, x = use.matrix_in<T>(Role::input, phase.in), dy = use.matrix_in<T>(Role::d_output, phase.out),
             u = use.matrix_in<T>(Role::lora_inner, width), du = use.matrix_in<T>(Role::d_lora_inner, width),
             d_a = use.matrix_out<float>(Role::d_lora_a, phase.in),
             d_b = use.matrix_out<float>(Role::d_lora_b, binder.spec().model.lora.rank),
             accumulate = use.accumulate()] {
                adapters.weight_gradients(x, dy, u, du, d_a, d_b, accumulate);
            };
    }
    if (use.writes(Role::lora_inner)) {
        return [=, x = use.matrix_in<T>(Role::input, phase.in),
                u = use.matrix_out<T>(Role::lora_inner, width)] { adapters.project_input(x, u); };
    }
    if (use.reads(Role::lora_inner)) {
        return [=, u = use.matrix_in<T>(Role::lora_inner, width),
                y = use.matrix_out<T>(Role::output, phase.out)] { adapters.add_output(u, y); };
    }
    if (use.writes(Role::d_lora_inner)) {
        return [=, dy = use.matrix_in<T>(Role::d_output, phase.out),
                du = use.matrix_out<T>(Role::d_lora_inner, width)] { adapters.project_gradient(dy, du); };
    }
    return [=, du = use.matrix_in<T>(Role::d_lora_inner, width),
            dx = use.matrix_out<T>(Role::d_input, phase.in)] { adapters.add_input_gradient(du, dx); };
}

/// True if the op is a product of adapters that has its own op.
bool is_of_grid_adapters(const Operands& use) {
    return use.reads(Role::lora_inner) || use.writes(Role::lora_inner) || use.reads(Role::d_lora_inner) ||
           use.writes(Role::d_lora_inner);
}

/// Binds the products of a tiled weight's adapters, which are added to the result of its tiles.
template <class T>
Kernel adapters_after_tiles(Binder<T>& binder, const layout::Phase& phase, Operands& use) {
    if (use.op().direction == Direction::backward_input) {
        const auto dy = use.matrix_in<T>(Role::d_output, phase.out);
        const auto dx = use.matrix_out<T>(Role::d_input, phase.in);
        return [=, adapters = Adapters<T>{binder, phase, use, dy.extent(0)}] {
            adapters.backward_input(dy, dx);
        };
    }
    const auto x = use.matrix_in<T>(Role::input, phase.in);
    const auto y = use.matrix_out<T>(Role::output, phase.out);
    return [=, adapters = Adapters<T>{binder, phase, use, x.extent(0)}] { adapters.forward(x, y); };
}

/// True if the op only adds the products of adapters to an output or to a gradient of an input.
bool has_adapters_alone(const Operands& use) {
    return use.reads(Role::lora_a) && !use.reads(Role::weight) && !use.writes(Role::d_lora_a);
}

/// Binds the sum of the gradients of two readers of the input.
template <class T>
Kernel sum_of_gradients(Binder<T>& binder, const layout::Phase& phase, Operands& use) {
    const auto stream = binder.stream();
    const auto total = use.matrix_in<T>(Role::d_input, phase.in);
    const auto addend = use.matrix_in<T>(Role::d_addend, phase.in);
    return [=, sum = use.matrix_out<T>(Role::d_input, phase.in)] {
        kernels::residual_forward<T>(stream, total, addend, {}, sum);
    };
}

}  // namespace

template <class T>
Kernel bind_linear(Binder<T>& binder, const layout::Phase& phase, Operands& use) {
    if (is_of_grid_adapters(use)) {
        return grid_adapters(binder, phase, use);
    }
    if (has_adapters_alone(use)) {
        return adapters_after_tiles(binder, phase, use);
    }
    switch (use.op().direction) {
        case Direction::backward:
            return sum_of_gradients(binder, phase, use);
        case Direction::backward_input:
            return use.writes(Role::d_input_sum) ? backward_input_sum(binder, phase, use)
                                                 : backward_input(binder, phase, use);
        case Direction::backward_weight:
            return backward_weight(binder, phase, use);
        default:
            return forward(binder, phase, use);
    }
}

template Kernel bind_linear<float>(Binder<float>&, const layout::Phase&, Operands&);
template Kernel bind_linear<tensor::bfloat16>(Binder<tensor::bfloat16>&, const layout::Phase&, Operands&);

}  // namespace ziggurat::model
