/// The pointwise functions between the products of a layer's feed-forward part.
#include "kernels/gelu.hpp"
#include "kernels/glu/swiglu.hpp"
#include "model/operands.hpp"
#include "tensor/bfloat16.hpp"

namespace ziggurat::model {

using layout::PhaseKind;
using schedule::Direction;

template <class T>
Kernel bind_activation(Binder<T>& binder, const layout::Phase& phase, Operands& use) {
    const auto stream = binder.stream();
    const auto width = binder.spec().model.ffn_hidden / binder.spec().parallel.tensor;
    const bool is_backward = use.op().direction == Direction::backward;
    if (phase.kind == PhaseKind::gelu || phase.kind == PhaseKind::gelu_erf) {
        const bool is_exact = phase.kind == PhaseKind::gelu_erf;
        const auto forward = is_exact ? kernels::gelu_erf_forward<T> : kernels::gelu_forward<T>;
        const auto backward = is_exact ? kernels::gelu_erf_backward<T> : kernels::gelu_backward<T>;
        const auto x = use.matrix_in<T>(Role::input, width);
        if (is_backward) {
            return [=, dy = use.matrix_out<T>(Role::d_input, width)] { backward(stream, x, dy); };
        }
        return [=, y = use.matrix_out<T>(Role::output, width)] { forward(stream, x, y); };
    }
    const bool is_geglu = phase.kind == PhaseKind::geglu;
    const auto forward = is_geglu ? kernels::geglu_forward<T> : kernels::swiglu_forward<T>;
    const auto backward = is_geglu ? kernels::geglu_backward<T> : kernels::swiglu_backward<T>;
    const auto x = use.matrix_in<T>(Role::input, 2 * width);
    if (is_backward) {
        const auto y =
            use.writes(Role::activated) ? use.matrix_out<T>(Role::activated, width) : TensorAddress<T, 2>{};
        return [=, dy = use.matrix_in<T>(Role::d_output, width),
                dx = use.matrix_out<T>(Role::d_input, 2 * width)] { backward(stream, x, dy, dx, y); };
    }
    return [=, y = use.matrix_out<T>(Role::output, width)] { forward(stream, x, y); };
}

template Kernel bind_activation<float>(Binder<float>&, const layout::Phase&, Operands&);
template Kernel bind_activation<tensor::bfloat16>(Binder<tensor::bfloat16>&, const layout::Phase&, Operands&);

}  // namespace ziggurat::model
