/// Lookups of tokens and positions and their gradients.
#include "kernels/embedding.hpp"
#include "model/operands.hpp"
#include "tensor/bfloat16.hpp"

namespace ziggurat::model {

using schedule::Direction;

template <class T>
Kernel bind_embedding(Binder<T>& binder, const layout::Phase& phase, Operands& use) {
    const auto stream = binder.stream();
    const auto width = binder.stream_width();
    const auto tokens = use.in<std::int32_t>(Role::tokens);
    const auto positions = use.in<std::int32_t>(Role::positions);
    const auto dropout = binder.dropout(use, phase.has_dropout, -1, dropout_embedding);
    const auto vocab = binder.spec().model.vocab_padded;
    const auto first = binder.first_of_slice(vocab);
    const auto factor = binder.embedding_factor();

    if (use.op().direction == Direction::forward || use.op().direction == Direction::recompute) {
        const auto learned = use.reads(Role::position_table) ? use.matrix_in<T>(Role::position_table, width)
                                                             : TensorAddress<const T, 2>{};
        return
            [=, table = use.matrix_in<T>(Role::table, width), out = use.matrix_out<T>(Role::output, width)] {
                kernels::embedding_forward<T>(stream, tokens, positions, table, first, vocab, learned,
                                              dropout, out, factor);
            };
    }
    const auto d_out = use.matrix_in<T>(Role::d_output, width);
    const auto d_table = use.gradient(Role::d_table, width);
    const auto d_learned = use.gradient(Role::d_position_table, width);
    // If a tied head on this rank has already written the table's gradient, this gradient is added to it.
    const auto accumulate = use.accumulate();
    const auto scale = static_cast<float>(binder.spec().model.embedding_gradient) * factor;
    return [=] {
        kernels::embedding_backward<T>(stream, tokens, positions, d_out, dropout, d_table, first, vocab,
                                       accumulate, d_learned, accumulate, scale);
    };
}

template Kernel bind_embedding<float>(Binder<float>&, const layout::Phase&, Operands&);
template Kernel bind_embedding<tensor::bfloat16>(Binder<tensor::bfloat16>&, const layout::Phase&, Operands&);

}  // namespace ziggurat::model
