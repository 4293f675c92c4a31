/// Rearrangements around the all-to-alls of heads for positions.
#include "kernels/context/head_exchange.hpp"
#include "layout/context/context_heads.hpp"
#include "model/operands.hpp"
#include "tensor/bfloat16.hpp"

namespace ziggurat::model {

bool exchanges_heads(const Operands& operands) {
    const auto has = [&](Role role) { return operands.reads(role) || operands.writes(role); };
    return has(Role::heads_by_rank) || has(Role::rows_by_rank);
}

template <class T>
Kernel bind_head_exchange(Binder<T>& binder, Operands& use) {
    const auto& spec = binder.spec();
    const auto stream = binder.stream();
    const bool splits = use.writes(Role::heads_by_rank) || use.writes(Role::rows_by_rank);
    const bool is_of_heads = use.reads(Role::heads_by_rank) || use.writes(Role::heads_by_rank);
    const auto by_rank = is_of_heads ? Role::heads_by_rank : Role::rows_by_rank;
    const auto rows = spec.train.micro_batch * spec.data.seq / spec.parallel.context;
    const auto qkv = layout::context_heads(spec.model, spec.parallel, true);
    const auto elements = splits ? use.out<T>(by_rank).size() : use.in<T>(by_rank).size();
    const bool has_keys = elements == rows * qkv.ranks * qkv.part_width();
    const auto heads = has_keys ? qkv : layout::context_heads(spec.model, spec.parallel, false);
    const auto width = is_of_heads ? heads.width() : heads.part_width();
    const auto whole = splits ? TensorAddress<T, 2>{} : use.matrix_out<T>(Role::output, width);
    if (is_of_heads && splits) {
        return [=, from = use.matrix_in<T>(Role::input, width),
                to = use.matrix_out<T>(by_rank, heads.part_width())] {
            kernels::split_heads<T>(stream, heads, from, to);
        };
    }
    if (is_of_heads) {
        return [=, from = use.matrix_in<T>(by_rank, heads.part_width())] {
            kernels::join_heads<T>(stream, heads, from, whole);
        };
    }
    const auto sequences = spec.train.micro_batch;
    if (splits) {
        return [=, from = use.matrix_in<T>(Role::input, width), to = use.matrix_out<T>(by_rank, width)] {
            kernels::exchange_blocks<T>(stream, sequences, heads.ranks, from, to);
        };
    }
    return [=, from = use.matrix_in<T>(by_rank, width)] {
        kernels::exchange_blocks<T>(stream, heads.ranks, sequences, from, whole);
    };
}

template Kernel bind_head_exchange<float>(Binder<float>&, Operands&);
template Kernel bind_head_exchange<tensor::bfloat16>(Binder<tensor::bfloat16>&, Operands&);

}  // namespace ziggurat::model
