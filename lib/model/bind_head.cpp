/// The product with the vocabulary and the loss, in blocks of rows.
///
/// The logits of all tokens never exist at the same time.
#include "kernels/cross_entropy.hpp"
#include "model/logit_transform.hpp"
#include "model/operands.hpp"
#include "tensor/bfloat16.hpp"

namespace ziggurat::model {

using kernels::Packing;
using schedule::Direction;

namespace {

/// Binds the packing of the weight, which all blocks of rows and both products then read.
template <class T>
Kernel bind_packing(Binder<T>& binder, const layout::Phase& phase, Operands& use) {
    const auto stream = binder.stream();
    const auto* product = &binder.linear({1, phase.in, phase.out, false});
    const auto w = use.matrix_in<T>(Role::weight, phase.in);
    const auto forward = use.out<std::byte>(Role::packed_forward);
    if (!use.writes(Role::packed_backward)) {
        return [=] { product->pack(stream, Packing::forward, w, forward); };
    }
    return [=, backward = use.out<std::byte>(Role::packed_backward)] {
        product->pack(stream, Packing::forward, w, forward);
        product->pack(stream, Packing::backward_input, w, backward);
    };
}

}  // namespace

template <class T>
Kernel bind_logits(Binder<T>& binder, const layout::Phase& phase, Operands& use) {
    const auto stream = binder.stream();
    const auto workspace = use.workspace();
    const auto in = phase.in;
    const auto out = phase.out;
    switch (use.op().direction) {
        case Direction::none:
            return bind_packing(binder, phase, use);
        case Direction::backward_input: {
            const auto dy = use.matrix_in<T>(Role::d_output, out);
            const auto* product = &binder.linear({dy.extent(0), in, out, false});
            const auto dx = use.matrix_out<T>(Role::d_input, in);
            if (use.reads(Role::weight)) {
                return [=, w = use.matrix_in<T>(Role::weight, in)] {
                    product->backward_input(stream, dy, w, dx, workspace);
                };
            }
            return [=, packed = use.in<std::byte>(Role::packed_backward)] {
                product->backward_input_packed(stream, dy, packed, dx, workspace);
            };
        }
        case Direction::backward_weight: {
            const auto dy = use.matrix_in<T>(Role::d_output, out);
            const auto* product = &binder.linear({dy.extent(0), in, out, false});
            return [=, x = use.matrix_in<T>(Role::input, in), dw = use.matrix_out<float>(Role::d_weight, in),
                    accumulate = use.accumulate()] {
                product->backward_weight(stream, x, dy, dw, accumulate, workspace);
            };
        }
        case Direction::forward:
        case Direction::backward:
        case Direction::recompute:
            break;
    }
    const auto x = use.matrix_in<T>(Role::input, in);
    const auto* product = &binder.linear(
        {.rows = x.extent(0), .in = in, .out = out, .has_bias = false, .is_in_place = use.has_few_rows()});
    const auto y = use.matrix_out<T>(Role::output, out);
    if (use.reads(Role::weight)) {
        return
            [=, w = use.matrix_in<T>(Role::weight, in)] { product->forward(stream, x, w, {}, y, workspace); };
    }
    return [=, packed = use.in<std::byte>(Role::packed_forward)] {
        product->forward_packed(stream, x, packed, {}, y, workspace);
    };
}

template <class T>
Kernel bind_loss(Binder<T>& binder, Operands& use) {
    const auto stream = binder.stream();
    const auto& model = binder.spec().model;
    const auto vocab = model.vocab;
    const auto transform = logit_transform(model);
    const auto targets = use.in<std::int32_t>(Role::targets);
    const auto mask = use.in<std::uint8_t>(Role::mask);
    const auto losses = use.out<float>(Role::losses);
    if (use.writes(Role::d_input)) {
        const auto inputs = use.step_inputs();
        return [=, logits = use.matrix_out<T>(Role::d_input, model.vocab_padded)] {
            kernels::cross_entropy<T>(stream, logits, vocab, targets, mask, inputs, losses, transform);
        };
    }
    return [=, logits = use.matrix_in<T>(Role::input, model.vocab_padded)] {
        kernels::cross_entropy_loss_only<T>(stream, logits, vocab, targets, mask, losses, transform);
    };
}

#define ZG_INSTANTIATE(T)                                                        \
    template Kernel bind_logits<T>(Binder<T>&, const layout::Phase&, Operands&); \
    template Kernel bind_loss<T>(Binder<T>&, Operands&);
ZG_INSTANTIATE(float)
ZG_INSTANTIATE(tensor::bfloat16)
#undef ZG_INSTANTIATE

}  // namespace ziggurat::model
