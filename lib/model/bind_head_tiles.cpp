/// The product with some of the vocabulary and what the loss has to know of it.
#include "kernels/cross_entropy.hpp"
#include "kernels/elementwise.hpp"
#include "model/operands.hpp"
#include "tensor/bfloat16.hpp"

namespace ziggurat::model {

using kernels::Accumulate;
using schedule::Direction;
using tensor::TensorRef;

template <class T>
Kernel bind_logits_tile(Binder<T>& binder, const layout::Phase& phase, Operands& use) {
    const auto stream = binder.stream();
    const auto workspace = use.workspace();
    const auto in = phase.in;
    const auto width = use.op().column_end - use.op().column_begin;
    switch (use.op().direction) {
        case Direction::backward_input: {
            const auto dy = use.matrix_in<T>(Role::d_output, width);
            const auto* product = &binder.linear(dy.extent(0), in, width, false, true);
            const auto w = use.matrix_in<T>(Role::weight, in);
            const auto sum = use.matrix_out<float>(Role::d_input_sum, in);
            const auto accumulate = use.op().column_begin > 0 ? Accumulate::yes : Accumulate::no;
            const auto dx = use.writes(Role::d_input) ? use.out<T>(Role::d_input) : std::span<T>{};
            return [=] {
                product->backward_input_sum(stream, dy, w, sum, accumulate, workspace);
                if (!dx.empty()) {
                    kernels::convert<float, T>(stream, {sum.data, static_cast<std::size_t>(sum.size())}, dx);
                }
            };
        }
        case Direction::backward_weight: {
            const auto dy = use.matrix_in<T>(Role::d_output, width);
            const auto* product = &binder.linear(dy.extent(0), in, width, false, true);
            return [=, x = use.matrix_in<T>(Role::input, in), dw = use.matrix_out<float>(Role::d_weight, in),
                    accumulate = use.accumulate()] {
                product->backward_weight(stream, x, dy, dw, accumulate, workspace);
            };
        }
        case Direction::none:
        case Direction::forward:
        case Direction::backward:
        case Direction::recompute:
            break;
    }
    const auto x = use.matrix_in<T>(Role::input, in);
    const auto* product = &binder.linear(x.extent(0), in, width, false, true);
    return [=, w = use.matrix_in<T>(Role::weight, in), y = use.matrix_out<T>(Role::output, width)] {
        product->forward(stream, x, w, {}, y, workspace);
    };
}

static_assert(sizeof(kernels::LossStatistics) == schedule::loss_statistics_bytes);

template <class T>
Kernel bind_loss_tile(Binder<T>& binder, Operands& use) {
    const auto stream = binder.stream();
    const auto vocab = binder.spec().model.vocab;
    const auto mask = use.vector_in<std::uint8_t>(Role::mask);
    if (use.writes(Role::losses)) {
        return [=, statistics = use.in<kernels::LossStatistics>(Role::statistics),
                losses = use.vector_out<float>(Role::losses)] {
            kernels::losses_of_statistics(stream, statistics, mask, losses);
        };
    }
    const auto first = use.op().column_begin;
    const auto width = use.op().column_end - first;
    const auto targets = use.vector_in<std::int32_t>(Role::targets);
    if (use.writes(Role::d_input)) {
        const auto* inputs = use.step_inputs();
        return [=, statistics = use.in<kernels::LossStatistics>(Role::statistics),
                logits = use.matrix_out<T>(Role::d_input, width)] {
            kernels::cross_entropy_tile_gradient<T>(stream, logits, first, vocab, targets, mask, statistics,
                                                    inputs);
        };
    }
    return [=, statistics = use.out<kernels::LossStatistics>(Role::statistics),
            logits = use.matrix_in<T>(Role::input, width)] {
        kernels::cross_entropy_tile<T>(stream, logits, first, vocab, targets, mask, statistics);
    };
}

#define ZG_INSTANTIATE(T)                                                             \
    template Kernel bind_logits_tile<T>(Binder<T>&, const layout::Phase&, Operands&); \
    template Kernel bind_loss_tile<T>(Binder<T>&, Operands&);
ZG_INSTANTIATE(float)
ZG_INSTANTIATE(tensor::bfloat16)
#undef ZG_INSTANTIATE

}  // namespace ziggurat::model
