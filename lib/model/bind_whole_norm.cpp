/// The norm of all queries of a token, and of all its keys, in two phases between which ranks may sum.
#include "kernels/norm/whole_norm.hpp"
#include "model/operands.hpp"
#include "tensor/bfloat16.hpp"

namespace ziggurat::model {

using schedule::Direction;

namespace {

constexpr std::int64_t sums_of_a_token = 2;  // of queries, and of keys

kernels::QkvHeads heads_of(const spec::RunSpec& spec) {
    const int tensor = spec.parallel.tensor;
    return {spec.model.heads / tensor, layout::local_kv_heads(spec.model, tensor), spec.model.head_dim};
}

}  // namespace

template <class T>
Kernel bind_square_sum(Binder<T>& binder, Operands& use) {
    const auto stream = binder.stream();
    const auto heads = heads_of(binder.spec());
    const auto x = use.matrix_in<T>(Role::input, heads.width());
    if (use.op().direction == Direction::backward) {
        return [=, d_sums = use.matrix_in<float>(Role::d_output, sums_of_a_token),
                dx = use.matrix_out<T>(Role::d_input, heads.width())] {
            kernels::square_sums_backward<T>(stream, heads, x, d_sums, dx);
        };
    }
    return [=, sums = use.matrix_out<float>(Role::output, sums_of_a_token)] {
        kernels::square_sums<T>(stream, heads, x, sums);
    };
}

template <class T>
Kernel bind_whole_norm(Binder<T>& binder, Operands& use) {
    const auto stream = binder.stream();
    const auto heads = heads_of(binder.spec());
    const int ranks = binder.spec().parallel.tensor;
    const auto epsilon = static_cast<float>(binder.spec().model.norm_epsilon);
    const auto x = use.matrix_in<T>(Role::input, heads.width());
    const auto sums = use.matrix_in<float>(Role::square_sums, sums_of_a_token);
    const auto gain = use.in<T>(Role::gain);
    if (use.op().direction == Direction::backward) {
        const auto d_sums = use.writes(Role::d_square_sums)
                                ? use.matrix_out<float>(Role::d_square_sums, sums_of_a_token)
                                : TensorAddress<float, 2>{};
        return [=, dx = use.matrix_out<T>(Role::d_input, heads.width()), d_gain = use.gradient(Role::d_gain),
                accumulate = use.accumulate(), workspace = use.workspace()] {
            kernels::whole_norm_backward<T>(stream, heads, ranks, x, sums, gain, epsilon, dx, d_sums, d_gain,
                                            accumulate, workspace);
        };
    }
    return [=, y = use.matrix_out<T>(Role::output, heads.width())] {
        kernels::whole_norm_forward<T>(stream, heads, ranks, x, sums, gain, epsilon, y);
    };
}

#define ZG_INSTANTIATE(T)                                      \
    template Kernel bind_square_sum<T>(Binder<T>&, Operands&); \
    template Kernel bind_whole_norm<T>(Binder<T>&, Operands&);
ZG_INSTANTIATE(float)
ZG_INSTANTIATE(tensor::bfloat16)
#undef ZG_INSTANTIATE

}  // namespace ziggurat::model
