/// Look-ups of tokens and positions and their gradients.
#include "kernels/embedding.hpp"
#include "model/operands.hpp"
#include "tensor/bfloat16.hpp"

namespace ziggurat::model {

using kernels::Accumulate;
using schedule::Direction;

template <class T>
Kernel bind_embedding(Binder<T>& binder, const layout::Phase& phase, Operands& use) {
    const auto stream = binder.stream();
    const auto width = binder.spec().model.hidden;
    const auto tokens = use.vector_in<std::int32_t>(Role::tokens);
    const auto positions = use.vector_in<std::int32_t>(Role::positions);
    const auto dropout = use.dropout(binder.spec(), phase.has_dropout, -1, dropout_embedding);

    if (use.op().direction == Direction::forward || use.op().direction == Direction::recompute) {
        const auto learned = use.reads(Role::position_table) ? use.matrix_in<T>(Role::position_table, width)
                                                             : tensor::TensorRef<const T, 2>{};
        return
            [=, table = use.matrix_in<T>(Role::table, width), out = use.matrix_out<T>(Role::output, width)] {
                kernels::embedding_forward<T>(stream, tokens, positions, table, learned, dropout, out);
            };
    }
    const auto d_out = use.matrix_in<T>(Role::d_output, width);
    const auto d_table = use.gradient(Role::d_table, width);
    const auto d_learned = use.gradient(Role::d_position_table, width);
    // A tied head has written its part of the table's gradient before: the lookup's is added to it.
    const auto table_part = binder.spec().model.tie_embeddings ? Accumulate::yes : use.accumulate();
    const auto position_part = use.accumulate();
    return [=] {
        kernels::embedding_backward<T>(stream, tokens, positions, d_out, dropout, d_table, table_part,
                                       d_learned, position_part);
    };
}

template Kernel bind_embedding<float>(Binder<float>&, const layout::Phase&, Operands&);
template Kernel bind_embedding<tensor::bfloat16>(Binder<tensor::bfloat16>&, const layout::Phase&, Operands&);

}  // namespace ziggurat::model
