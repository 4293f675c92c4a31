/// Norms of rows of which each rank of a tensor group has a part; ranks sum between their two phases.
#include <utility>

#include "kernels/norm/split_norm.hpp"
#include "kernels/residual.hpp"
#include "model/operands.hpp"
#include "tensor/bfloat16.hpp"

namespace ziggurat::model {

using kernels::Accumulate;
using schedule::Direction;

namespace {

/// Returns the number of sums of a row: of squares, and for a norm with a mean of elements.
std::int64_t num_sums(const layout::Unit& unit, const layout::ValueUse& sums) {
    return unit.values[sums.value].width;
}

/// Returns the kernel, which begins with a copy of the gradient if its sum has another buffer.
template <class T>
Kernel adds_to_gradient(Binder<T>& binder, Operands& use, TensorAddress<T, 2> dx, Kernel kernel) {
    if (!use.sums_apart(Role::d_input)) {
        return kernel;
    }
    return [kernel = std::move(kernel), stream = binder.stream(),
            before = use.matrix_in<T>(Role::d_input, binder.stream_width()), dx] {
        kernels::dropout_backward<T>(stream, before, {}, dx);  // without dropout, a copy
        kernel();
    };
}

}  // namespace

template <class T>
Kernel bind_row_sums(Binder<T>& binder, const layout::Unit& unit, const layout::Phase& phase, Operands& use) {
    const auto stream = binder.stream();
    const auto part = binder.stream_width();
    const auto count = num_sums(unit, phase.writes.front());
    const auto x = use.matrix_in<T>(Role::input, part);
    if (use.op().direction == Direction::backward) {
        const auto dx = use.matrix_out<T>(Role::d_input, part);
        return adds_to_gradient(binder, use, dx, [=, d_sums = use.matrix_in<float>(Role::d_output, count)] {
            kernels::row_sums_backward<T>(stream, x, d_sums, dx);
        });
    }
    return [=, sums = use.matrix_out<float>(Role::output, count)] { kernels::row_sums<T>(stream, x, sums); };
}

template <class T>
Kernel bind_split_norm(Binder<T>& binder,
                       const layout::Unit& unit,
                       const layout::Phase& phase,
                       Operands& use) {
    const auto stream = binder.stream();
    const auto& model = binder.spec().model;
    const auto part = binder.stream_width();
    const auto count = num_sums(unit, phase.reads[1]);
    const kernels::SplitNorm norm{model.hidden, static_cast<float>(phase.gain_offset),
                                  static_cast<float>(model.norm_epsilon)};
    const auto x = use.matrix_in<T>(Role::input, part);
    const auto sums = use.matrix_in<float>(Role::square_sums, count);
    const auto gain = use.in<T>(Role::gain);
    if (use.op().direction == Direction::backward) {
        const auto d_sums = use.writes(Role::d_square_sums)
                                ? use.matrix_out<float>(Role::d_square_sums, count)
                                : TensorAddress<float, 2>{};
        const auto dx = use.matrix_out<T>(Role::d_input, part);
        Kernel kernel = [=, dy = use.matrix_in<T>(Role::d_output, part),
                         add_to_dx = use.reads(Role::d_input) ? Accumulate::yes : Accumulate::no,
                         d_gain = use.gradient(Role::d_gain), d_bias = use.gradient(Role::d_bias),
                         accumulate = use.accumulate(), workspace = use.workspace()] {
            kernels::split_norm_backward<T>(stream, norm, x, dy, sums, gain, dx, add_to_dx, d_sums, d_gain,
                                            d_bias, accumulate, workspace);
        };
        return adds_to_gradient(binder, use, dx, std::move(kernel));
    }
    const auto bias = use.reads(Role::bias) ? use.in<T>(Role::bias) : VectorAddress<const T>{};
    return [=, y = use.matrix_out<T>(Role::output, part)] {
        kernels::split_norm_forward<T>(stream, norm, x, sums, gain, bias, y);
    };
}

#define ZG_INSTANTIATE(T)                                                                               \
    template Kernel bind_row_sums<T>(Binder<T>&, const layout::Unit&, const layout::Phase&, Operands&); \
    template Kernel bind_split_norm<T>(Binder<T>&, const layout::Unit&, const layout::Phase&, Operands&);
ZG_INSTANTIATE(float)
ZG_INSTANTIATE(tensor::bfloat16)
#undef ZG_INSTANTIATE

}  // namespace ziggurat::model
