/// Attention, and what precedes it: the norm and the rotation of queries and keys.
#include "kernels/attention.hpp"
#include "kernels/cache/cached_attention.hpp"
#include "kernels/norm/head_norm.hpp"
#include "kernels/rope.hpp"
#include "layout/cache/kv_cache.hpp"
#include "layout/context/context_heads.hpp"
#include "model/operands.hpp"
#include "tensor/bfloat16.hpp"

namespace ziggurat::model {

using schedule::Direction;

namespace {

/// Returns the scale for AttentionShape: 0 for the usual one, which kernels compute in float.
///
/// The usual scale rounded from double may differ from the kernels' in the last bit.
float scale_of(const spec::Model& model) {
    const auto scale = static_cast<float>(model.attention_scale);
    return scale == static_cast<float>(model.usual_attention_scale()) ? 0 : scale;
}

}  // namespace

template <class T>
kernels::AttentionShape attention_shape(const Binder<T>& binder,
                                        const Operands& use,
                                        std::int64_t elements,
                                        int context) {
    const auto& spec = binder.spec();
    auto heads = layout::context_heads(spec.model, spec.parallel, true);
    heads.ranks = context;
    kernels::AttentionShape shape{};
    shape.heads = heads.part_heads();
    shape.kv_heads = heads.part_kv_heads();
    shape.first_head = binder.first_of_slice(spec.model.heads) +
                       (context > 1 ? binder.context_rank() * heads.part_heads() : 0);
    shape.head_dim = spec.model.head_dim;
    shape.scale = scale_of(spec.model);
    shape.score_cap = static_cast<float>(spec.model.softcap.attention);
    shape.any_order = spec.precision.attention_backward == spec::AttentionBackward::fast;
    const auto rows = elements / ((shape.heads + 2 * shape.kv_heads) * shape.head_dim);
    const auto positions = context > 1 ? spec.data.seq : spec.data.seq / spec.parallel.context;
    shape.seq = use.cache().sequences > 0 ? rows : positions;
    shape.batch = rows / shape.seq;
    return shape;
}

namespace {

template <class T>
Kernel bind_cached_attention(Binder<T>& binder, const layout::Phase& phase, Operands& use) {
    const auto shape = attention_shape(binder, use, use.in<T>(Role::input).size(), 1);
    const auto& cache = use.cache();
    const auto table = use.in<std::int32_t>(phase.window > 0 ? Role::window_page_table : Role::page_table)
                           .template reshaped<2>({cache.sequences, cache.pages_per_sequence});
    const auto pages = phase.window > 0 ? cache.window_pages : cache.pages;
    return
        [=, stream = binder.stream(), window = phase.window,
         qkv = use.matrix_in<T>(Role::input, (shape.heads + 2 * shape.kv_heads) * shape.head_dim),
         positions = use.in<std::int32_t>(Role::positions),
         sequences = use.in<std::int32_t>(Role::cache_sequences),
         keys_and_values = use.out<T>(Role::kv_cache)
                               .template reshaped<4>(
                                   {pages, 2 * shape.kv_heads, layout::cache_page_positions, shape.head_dim}),
         out = use.matrix_out<T>(Role::output, shape.heads * shape.head_dim), workspace = use.workspace()] {
            kernels::cached_attention<T>(stream, shape, window, qkv, positions, sequences, table,
                                         keys_and_values, out, workspace);
        };
}

}  // namespace

template <class T>
Kernel bind_attention(Binder<T>& binder,
                      const layout::Unit& unit,
                      const layout::Phase& phase,
                      Operands& use) {
    if (use.cache().sequences > 0) {
        return bind_cached_attention(binder, phase, use);
    }
    const auto stream = binder.stream();
    const auto shape =
        attention_shape(binder, use, use.in<T>(Role::input).size(), binder.context_of_heads(use));
    const auto out_width = shape.heads * shape.head_dim;
    const auto qkv_width = (shape.heads + 2 * shape.kv_heads) * shape.head_dim;
    const auto qkv = use.matrix_in<T>(Role::input, qkv_width);
    const auto batch_starts =
        use.in<std::int32_t>(phase.window > 0 ? Role::window_starts : Role::document_starts);
    // Without a window, and if documents never reset attention, every query starts at 0. Then kernels without
    // starts can run.
    const bool has_starts = phase.window > 0 || binder.spec().data.reset_at_document;
    const auto starts = has_starts ? batch_starts : decltype(batch_starts){};
    const auto dropout = use.dropout(binder.spec(), phase.has_dropout, unit.layer, dropout_attention);
    const auto workspace = use.workspace();
    const std::array<std::int64_t, 3> lse_extents{shape.batch, shape.heads, shape.seq};
    binder.count_attention(kernels::prepare_attention<T>(
        stream, shape, layout::attention_use(binder.spec(), use.is_training(), phase.window)));

    if (use.op().direction == Direction::backward) {
        const auto lse = use.in<float>(Role::lse).template reshaped<3>(lse_extents);
        return [=, out = use.matrix_in<T>(Role::output, out_width),
                d_out = use.matrix_in<T>(Role::d_output, out_width),
                d_qkv = use.matrix_out<T>(Role::d_input, qkv_width)] {
            kernels::attention_backward<T>(stream, shape, qkv, starts, dropout, out, d_out, lse, d_qkv,
                                           workspace);
        };
    }
    const auto lse = use.out<float>(Role::lse).template reshaped<3>(lse_extents);
    return [=, out = use.matrix_out<T>(Role::output, out_width)] {
        kernels::attention_forward<T>(stream, shape, qkv, starts, dropout, out, lse, workspace);
    };
}

template <class T>
Kernel bind_head_norm(Binder<T>& binder, const layout::Phase& phase, Operands& use) {
    const auto stream = binder.stream();
    const auto& model = binder.spec().model;
    const int tensor = binder.spec().parallel.tensor;
    const kernels::QkvHeads heads{model.heads / tensor, layout::local_kv_heads(model, tensor),
                                  model.head_dim};
    const auto epsilon = static_cast<float>(model.norm_epsilon);
    const auto offset = static_cast<float>(phase.gain_offset);
    const auto x = use.matrix_in<T>(Role::input, heads.width());
    const auto gain = use.in<T>(Role::gain);
    if (use.op().direction == Direction::backward) {
        return [=, dx = use.matrix_out<T>(Role::d_input, heads.width()), d_gain = use.gradient(Role::d_gain),
                accumulate = use.accumulate(), workspace = use.workspace()] {
            kernels::head_norm_backward<T>(stream, heads, x, gain, offset, epsilon, dx, d_gain, accumulate,
                                           workspace);
        };
    }
    return [=, y = use.matrix_out<T>(Role::output, heads.width())] {
        kernels::head_norm_forward<T>(stream, heads, x, gain, offset, epsilon, y);
    };
}

template <class T>
Kernel bind_rope(Binder<T>& binder, Operands& use) {
    const auto stream = binder.stream();
    const bool is_backward = use.op().direction == Direction::backward;
    const auto elements = use.out<T>(is_backward ? Role::d_input : Role::output);
    const auto shape = attention_shape(binder, use, elements.size(), 1);
    const auto width = (shape.heads + 2 * shape.kv_heads) * shape.head_dim;
    const auto direction = is_backward ? kernels::RopeDirection::backward : kernels::RopeDirection::forward;
    const auto& model = binder.spec().model;
    const auto table = use.in<float>(Role::rotations)
                           .template reshaped<3>({binder.spec().data.seq, model.rotary_channels() / 2, 2});
    return [=, positions = use.in<std::int32_t>(Role::positions),
            qkv = use.matrix_out<T>(is_backward ? Role::d_input : Role::output, width)] {
        kernels::rope<T>(stream, shape, positions, table, direction, qkv);
    };
}

#define ZG_INSTANTIATE(T)                                                                                \
    template kernels::AttentionShape attention_shape<T>(const Binder<T>&, const Operands&, std::int64_t, \
                                                        int);                                            \
    template Kernel bind_attention<T>(Binder<T>&, const layout::Unit&, const layout::Phase&, Operands&); \
    template Kernel bind_head_norm<T>(Binder<T>&, const layout::Phase&, Operands&);                      \
    template Kernel bind_rope<T>(Binder<T>&, Operands&);
ZG_INSTANTIATE(float)
ZG_INSTANTIATE(tensor::bfloat16)
#undef ZG_INSTANTIATE

}  // namespace ziggurat::model
