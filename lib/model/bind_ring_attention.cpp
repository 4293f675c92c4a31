/// Rounds of ring attention.
#include "kernels/context/ring_attention.hpp"
#include "kernels/elementwise.hpp"
#include "layout/context/context_heads.hpp"
#include "layout/context/inner_ring.hpp"
#include "layout/context/ring_round.hpp"
#include "model/operands.hpp"
#include "tensor/bfloat16.hpp"

namespace ziggurat::model {

using schedule::Direction;

bool is_of_ring(const Operands& operands) {
    return operands.reads(Role::kv) || operands.writes(Role::kv) || operands.reads(Role::d_kv);
}

namespace {

/// Widths of the rows of the operands.
struct Widths {
    std::int64_t queries, keys_and_values;

    std::int64_t all() const { return queries + keys_and_values; }
};

template <class T>
Kernel bind_round(Binder<T>& binder,
                  const layout::Unit& unit,
                  const layout::Phase& phase,
                  Operands& use,
                  const Widths& widths) {
    const auto stream = binder.stream();
    const auto& spec = binder.spec();
    const auto qkv = use.matrix_in<T>(Role::input, widths.all());
    auto shape = attention_shape(binder, use, qkv.size(), 1);
    const std::array<std::int64_t, 3> lse_extents{shape.batch, shape.heads, shape.seq};
    shape.seq = spec.data.seq;
    const int ranks = spec.parallel.context;
    const layout::RingPlan plan{ranks, layout::inner_ring(spec), shape.seq, phase.window};
    const auto round = plan.round(binder.context_rank(), use.op().peer);
    const auto kv = use.matrix_in<T>(Role::kv, widths.keys_and_values);
    const auto batch_starts =
        use.in<std::int32_t>(phase.window > 0 ? Role::window_starts : Role::document_starts);
    const bool has_starts = phase.window > 0 || spec.data.reset_at_document;
    const auto starts = has_starts ? batch_starts : decltype(batch_starts){};
    const auto dropout = use.dropout(spec, phase.has_dropout, unit.layer, dropout_attention);
    const auto workspace = use.workspace();
    binder.count_attention(kernels::prepare_attention<T>(
        stream, shape, layout::attention_use(spec, use.is_training(), phase.window)));

    if (use.op().direction == Direction::backward) {
        const auto lse = use.in<float>(Role::lse).template reshaped<3>(lse_extents);
        const auto accumulate = use.reads(Role::d_kv) ? kernels::Accumulate::yes : kernels::Accumulate::no;
        return [=, out = use.matrix_in<T>(Role::output, widths.queries),
                d_out = use.matrix_in<T>(Role::d_output, widths.queries),
                d_q = use.matrix_out<float>(Role::d_q, widths.queries),
                d_kv = use.matrix_out<float>(Role::d_kv, widths.keys_and_values)] {
            kernels::ring_attention_backward<T>(stream, shape, round, qkv, kv, starts, dropout, out, d_out,
                                                lse, accumulate, d_q, d_kv, workspace);
        };
    }
    const auto lse = use.out<float>(Role::lse).template reshaped<3>(lse_extents);
    const auto out =
        use.writes(Role::output) ? use.matrix_out<T>(Role::output, widths.queries) : TensorAddress<T, 2>{};
    return [=, merged = use.matrix_out<float>(Role::merged, widths.queries)] {
        kernels::ring_attention_forward<T>(stream, shape, round, qkv, kv, starts, dropout, merged, lse, out,
                                           workspace);
    };
}

}  // namespace

template <class T>
Kernel bind_ring_attention(Binder<T>& binder,
                           const layout::Unit& unit,
                           const layout::Phase& phase,
                           Operands& use) {
    const auto heads = layout::context_heads(binder.spec().model, binder.spec().parallel, true);
    const Widths widths{heads.heads * heads.head_dim, 2 * heads.kv_heads * heads.head_dim};
    const auto stream = binder.stream();
    if (use.writes(Role::kv)) {
        const auto qkv = use.matrix_in<T>(Role::input, widths.all());
        return [=, shape = attention_shape(binder, use, qkv.size(), 1),
                kv = use.matrix_out<T>(Role::kv, widths.keys_and_values)] {
            kernels::pack_ring_keys<T>(stream, shape, qkv, kv);
        };
    }
    if (use.reads(Role::d_addend)) {  // gradients that another node has summed
        return [=, addend = use.in<float>(Role::d_addend), sum = use.out<float>(Role::d_kv)] {
            kernels::add_to(stream, addend, sum);
        };
    }
    if (use.writes(Role::d_input)) {
        const auto d_qkv = use.matrix_out<T>(Role::d_input, widths.all());
        return [=, shape = attention_shape(binder, use, d_qkv.size(), 1),
                d_q = use.matrix_in<float>(Role::d_q, widths.queries),
                d_kv = use.matrix_in<float>(Role::d_kv, widths.keys_and_values)] {
            kernels::join_ring_gradients<T>(stream, shape, d_q, d_kv, d_qkv);
        };
    }
    return bind_round(binder, unit, phase, use, widths);
}

template Kernel bind_ring_attention<float>(Binder<float>&,
                                           const layout::Unit&,
                                           const layout::Phase&,
                                           Operands&);
template Kernel bind_ring_attention<tensor::bfloat16>(Binder<tensor::bfloat16>&,
                                                      const layout::Unit&,
                                                      const layout::Phase&,
                                                      Operands&);

}  // namespace ziggurat::model
