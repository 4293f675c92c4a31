/// Norms, fused with a preceding residual sum unless that is part of a product, and residual sums.
#include "kernels/norm/layer_norm.hpp"
#include "kernels/norm/rms_norm.hpp"
#include "kernels/residual.hpp"
#include "model/operands.hpp"
#include "tensor/bfloat16.hpp"

namespace ziggurat::model {

using kernels::Accumulate;
using layout::PhaseKind;
using schedule::Direction;

namespace {

/// Returns the first row of the micro-batch in this rank's part of the phase.
template <class T>
std::int64_t first_row(const Binder<T>& binder, const layout::Phase& phase) {
    const auto& spec = binder.spec();
    const bool is_slice = phase.writes.front().wanted == layout::Placement::split_tokens;
    return is_slice ? binder.first_of_slice(spec.train.micro_batch * (spec.data.seq / spec.parallel.context))
                    : 0;
}

/// Returns the dropout of the branch with its constant factor, which also applies outside of training.
template <class T>
kernels::Dropout dropout_of_branch(
    const Binder<T>& binder, const layout::Unit& unit, const layout::Phase& phase, Operands& use, int site) {
    auto made = binder.dropout(use, phase.has_dropout, unit.layer, site, first_row(binder, phase));
    made.factor = static_cast<float>(phase.branch_factor);
    return made;
}

template <class T>
Kernel norm_forward(Binder<T>& binder, const layout::Unit& unit, const layout::Phase& phase, Operands& use) {
    const auto stream = binder.stream();
    const auto width = binder.stream_width();
    const auto epsilon = static_cast<float>(binder.spec().model.norm_epsilon);
    const auto offset = static_cast<float>(phase.gain_offset);
    const auto x = use.matrix_in<T>(Role::input, width);
    const auto gain = use.in<T>(Role::gain);
    const auto y = use.matrix_out<T>(Role::output, width);
    const auto inv_std = use.out<float>(Role::inv_std);
    const bool has_mean = use.writes(Role::mean);

    if (!use.reads(Role::branch)) {
        if (has_mean) {
            return [=, bias = use.in<T>(Role::bias), mean = use.out<float>(Role::mean)] {
                kernels::layer_norm_forward<T>(stream, x, gain, bias, epsilon, y, mean, inv_std);
            };
        }
        return [=] { kernels::rms_norm_forward<T>(stream, x, gain, offset, epsilon, y, inv_std); };
    }

    const auto branch = use.matrix_in<T>(Role::branch, width);
    const auto sum = use.matrix_out<T>(Role::sum, width);
    const auto dropout = dropout_of_branch(binder, unit, phase, use, dropout_attention_branch);
    if (has_mean) {
        return [=, bias = use.in<T>(Role::bias), mean = use.out<float>(Role::mean)] {
            kernels::residual_layer_norm_forward<T>(stream, x, branch, dropout, gain, bias, epsilon, sum, y,
                                                    mean, inv_std);
        };
    }
    return [=] {
        kernels::residual_rms_norm_forward<T>(stream, x, branch, dropout, gain, offset, epsilon, sum, y,
                                              inv_std);
    };
}

template <class T>
Kernel norm_backward(Binder<T>& binder, const layout::Unit& unit, const layout::Phase& phase, Operands& use) {
    const auto stream = binder.stream();
    const auto width = binder.stream_width();
    const auto x = use.matrix_in<T>(phase.kind == PhaseKind::norm ? Role::input : Role::sum, width);
    const auto dy = use.matrix_in<T>(Role::d_output, width);
    const auto gain = use.in<T>(Role::gain);
    const auto inv_std = use.in<float>(Role::inv_std);
    const auto dx = use.matrix_out<T>(Role::d_input, width);
    // Without a gradient of other readers, the norm's is the whole gradient.
    const auto add_to_dx = use.reads(Role::d_input) ? Accumulate::yes : Accumulate::no;
    const auto d_gain = use.gradient(Role::d_gain);
    const auto accumulate = use.accumulate();
    const auto workspace = use.workspace();

    Kernel norm;
    if (use.reads(Role::mean)) {
        const auto d_bias = use.gradient(Role::d_bias);
        norm = [=, mean = use.in<float>(Role::mean)] {
            kernels::layer_norm_backward<T>(stream, x, dy, gain, mean, inv_std, dx, add_to_dx, d_gain, d_bias,
                                            accumulate, workspace);
        };
    } else {
        norm = [=, offset = static_cast<float>(phase.gain_offset)] {
            kernels::rms_norm_backward<T>(stream, x, dy, gain, offset, inv_std, dx, add_to_dx, d_gain,
                                          accumulate, workspace);
        };
    }
    if (use.sums_apart(Role::d_input)) {
        norm = [norm = std::move(norm), stream, before = use.matrix_in<T>(Role::d_input, width), dx] {
            kernels::dropout_backward<T>(stream, before, {}, dx);  // without dropout, a copy
            norm();
        };
    }
    if (!use.writes(Role::d_branch)) {
        return norm;
    }
    const auto dropout = dropout_of_branch(binder, unit, phase, use, dropout_attention_branch);
    return
        [norm = std::move(norm), stream, dx, dropout, d_branch = use.matrix_out<T>(Role::d_branch, width)] {
            norm();
            kernels::dropout_backward<T>(stream, dx, dropout, d_branch);
        };
}

}  // namespace

template <class T>
Kernel bind_norm(Binder<T>& binder,
                 const layout::Unit& unit,
                 const layout::Phase& phase,
                 Operands& operands) {
    return operands.op().direction == Direction::backward ? norm_backward(binder, unit, phase, operands)
                                                          : norm_forward(binder, unit, phase, operands);
}

template <class T>
Kernel bind_residual(Binder<T>& binder, const layout::Unit& unit, const layout::Phase& phase, Operands& use) {
    const auto stream = binder.stream();
    const auto width = binder.stream_width();
    const bool ends_layer = phase.writes.front().value == unit.output;
    const auto dropout = dropout_of_branch(binder, unit, phase, use,
                                           ends_layer ? dropout_mlp_branch : dropout_attention_branch);
    if (use.op().direction == Direction::backward) {
        return
            [=, dy = use.matrix_in<T>(Role::d_output, width), dx = use.matrix_out<T>(Role::d_branch, width)] {
                kernels::dropout_backward<T>(stream, dy, dropout, dx);
            };
    }
    return [=, x = use.matrix_in<T>(Role::input, width), branch = use.matrix_in<T>(Role::branch, width),
            y = use.matrix_out<T>(Role::output, width)] {
        kernels::residual_forward<T>(stream, x, branch, dropout, y);
    };
}

#define ZG_INSTANTIATE(T)                                                                           \
    template Kernel bind_norm<T>(Binder<T>&, const layout::Unit&, const layout::Phase&, Operands&); \
    template Kernel bind_residual<T>(Binder<T>&, const layout::Unit&, const layout::Phase&, Operands&);
ZG_INSTANTIATE(float)
ZG_INSTANTIATE(tensor::bfloat16)
#undef ZG_INSTANTIATE

}  // namespace ziggurat::model
