/// Products with tiles of the vocabulary, and the loss statistics of each tile.
#include "kernels/cross_entropy.hpp"
#include "kernels/elementwise.hpp"
#include "kernels/preference.hpp"
#include "model/logit_transform.hpp"
#include "model/operands.hpp"
#include "model/preference_loss.hpp"
#include "tensor/bfloat16.hpp"

namespace ziggurat::model {

using kernels::Accumulate;
using schedule::Direction;

template <class T>
Kernel bind_logits_tile(Binder<T>& binder, const layout::Phase& phase, Operands& use) {
    const auto stream = binder.stream();
    const auto workspace = use.workspace();
    const auto in = phase.in;
    const auto width = use.op().column_end - use.op().column_begin;
    switch (use.op().direction) {
        case Direction::backward_input: {
            const auto dy = use.matrix_in<T>(Role::d_output, width);
            const auto* product = &binder.linear({dy.extent(0), in, width, false, true});
            const auto w = use.matrix_in<T>(Role::weight, in);
            const auto sum = use.matrix_out<float>(Role::d_input_sum, in);
            const auto accumulate = use.op().column_begin > 0 ? Accumulate::yes : Accumulate::no;
            const auto dx = use.writes(Role::d_input) ? use.out<T>(Role::d_input) : VectorAddress<T>{};
            return [=] {
                product->backward_input_sum(stream, dy, w, sum, accumulate, workspace);
                if (!dx.empty()) {
                    kernels::convert<float, T>(stream, sum.flat(), dx);
                }
            };
        }
        case Direction::backward_weight: {
            const auto dy = use.matrix_in<T>(Role::d_output, width);
            const auto* product = &binder.linear({dy.extent(0), in, width, false, true});
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
    const auto* product = &binder.linear({x.extent(0), in, width, false, true});
    return [=, w = use.matrix_in<T>(Role::weight, in), y = use.matrix_out<T>(Role::output, width)] {
        product->forward(stream, x, w, {}, y, workspace);
    };
}

static_assert(sizeof(kernels::LossStatistics) == schedule::loss_statistics_bytes);
static_assert(sizeof(kernels::AnswerRows) == schedule::answer_rows_bytes);
static_assert(sizeof(kernels::AnswerSums) == schedule::answer_sums_bytes);
static_assert(sizeof(kernels::PairResult) == schedule::pair_result_bytes);

template <class T>
Kernel bind_pairs(Binder<T>& binder, Operands& use) {
    const auto stream = binder.stream();
    const auto rule = preference_loss(binder.spec().train.objective);
    return [=, rows = binder.gathered_rows(), losses = use.in<float>(Role::losses),
            pairs = use.in<kernels::AnswerRows>(Role::pairs),
            references = use.in<kernels::AnswerSums>(Role::references),
            weights = use.out<float>(Role::token_weights),
            results = use.out<kernels::PairResult>(Role::pair_results)] {
        kernels::preference_weights(stream, losses, rows, pairs, references, rule, weights, results);
    };
}

template <class T>
Kernel bind_loss_tile(Binder<T>& binder, Operands& use) {
    const auto stream = binder.stream();
    if (use.reads(Role::statistics) && use.writes(Role::statistics) && !use.reads(Role::input)) {
        return [=, slices = use.in<kernels::LossStatistics>(Role::statistics),
                merged = use.out<kernels::LossStatistics>(Role::statistics)] {
            kernels::merge_statistics(stream, slices, merged);
        };
    }
    const auto& model = binder.spec().model;
    const auto mask = use.in<std::uint8_t>(Role::mask);
    if (use.writes(Role::losses)) {
        return [=, statistics = use.in<kernels::LossStatistics>(Role::statistics),
                losses = use.out<float>(Role::losses)] {
            kernels::losses_of_statistics(stream, statistics, mask, losses);
        };
    }
    const auto vocab = model.vocab;
    const auto transform = logit_transform(model);
    const bool is_tile = use.op().column_end > 0;
    const auto width = is_tile ? use.op().column_end - use.op().column_begin
                               : model.vocab_padded / binder.spec().parallel.tensor;
    const auto first = binder.first_of_slice(model.vocab_padded) + use.op().column_begin;
    const auto targets = use.in<std::int32_t>(Role::targets);
    if (use.writes(Role::d_input)) {
        const auto inputs = use.step_inputs();
        const auto weights = use.reads(Role::token_weights) ? use.in<float>(Role::token_weights)
                                                            : VectorAddress<const float>{};
        return [=, statistics = use.in<kernels::LossStatistics>(Role::statistics),
                logits = use.matrix_out<T>(Role::d_input, width)] {
            kernels::cross_entropy_tile_gradient<T>(stream, logits, first, vocab, targets, mask, weights,
                                                    statistics, inputs, transform);
        };
    }
    // Later columns are accumulated onto the statistics of earlier columns.
    const auto accumulate = use.reads(Role::statistics) ? Accumulate::yes : Accumulate::no;
    return [=, statistics = use.out<kernels::LossStatistics>(Role::statistics),
            logits = use.matrix_in<T>(Role::input, width)] {
        kernels::cross_entropy_tile<T>(stream, logits, first, vocab, targets, mask, accumulate, statistics,
                                       transform);
    };
}

#define ZG_INSTANTIATE(T)                                                             \
    template Kernel bind_logits_tile<T>(Binder<T>&, const layout::Phase&, Operands&); \
    template Kernel bind_loss_tile<T>(Binder<T>&, Operands&);                         \
    template Kernel bind_pairs<T>(Binder<T>&, Operands&);
ZG_INSTANTIATE(float)
ZG_INSTANTIATE(tensor::bfloat16)
#undef ZG_INSTANTIATE

}  // namespace ziggurat::model
