#include "model/adapter_products.hpp"

#include "kernels/columns.hpp"
#include "kernels/elementwise.hpp"
#include "tensor/bfloat16.hpp"

namespace ziggurat::model {

template <class T>
Adapters<T>::Adapters(Binder<T>& binder, const layout::Phase& phase, Operands& use, std::int64_t rows)
    : stream_{binder.stream()},
      rows_{rows},
      rank_{binder.spec().model.lora.rank},
      factor_{static_cast<float>(binder.spec().model.lora.factor())} {
    const layout::AdapterWorkspace parts{phase, rank_, rows, sizeof(T)};
    product_of_a_ = &binder.linear({rows, phase.in, parts.inner(), false});
    std::int64_t row = 0;
    for (const auto& adapter : phase.adapters) {
        adapters_.push_back({adapter, row, &binder.linear({rows, rank_, adapter.columns, false})});
        row += adapter.columns;
    }
    if (use.reads(Role::lora_a)) {
        a_ = use.matrix_in<T>(Role::lora_a, phase.in);
    }
    if (use.reads(Role::lora_b)) {
        b_ = use.matrix_in<T>(Role::lora_b, rank_);
    }
    const auto workspace = use.workspace();
    const auto from = [&](std::int64_t begin) { return workspace.part(begin, workspace.size() - begin); };
    inner_ = from(parts.inner_begin()).template matrix_of<T>(rows, parts.inner());
    one_ = from(parts.one_begin()).template matrix_of<T>(rows, rank_);
    wide_ = workspace.part(parts.wide_begin(), parts.products_begin() - parts.wide_begin());
    scratch_ = from(parts.products_begin());
}

template <class T>
template <class E>
TensorAddress<E, 2> Adapters<T>::rows_of_b(TensorAddress<E, 2> b, const AdapterPair& one) const {
    return b.flat()
        .part(one.first_row * rank_, one.position.columns * rank_)
        .template reshaped<2>({one.position.columns, rank_});
}

template <class T>
TensorAddress<T, 2> Adapters<T>::wide(std::int64_t columns) const {
    return wide_.template matrix_of<T>(rows_, columns);
}

template <class T>
void Adapters<T>::project_input(TensorAddress<const T, 2> x, TensorAddress<T, 2> u) const {
    product_of_a_->forward(stream_, x, a_, {}, u, scratch_);
    kernels::scale<T>(stream_, factor_, u.flat());
}

template <class T>
TensorAddress<const T, 2> Adapters<T>::columns_of(TensorAddress<const T, 2> matrix,
                                                  const AdapterPair& one) const {
    if (one.position.columns == matrix.extent(1)) {
        return matrix;
    }
    const auto taken = wide(one.position.columns);
    kernels::take_columns<T>(stream_, matrix, one.position.first_column, taken);
    return taken;
}

template <class T>
TensorAddress<const T, 2> Adapters<T>::part_of_inner(TensorAddress<const T, 2> u, std::size_t k) const {
    if (adapters_.size() == 1) {
        return u;
    }
    kernels::take_columns<T>(stream_, u, first_inner(k), one_);
    return one_;
}

template <class T>
void Adapters<T>::project_columns(TensorAddress<const T, 2> dy,
                                  std::size_t k,
                                  TensorAddress<T, 2> into) const {
    const auto& one = adapters_[k];
    const auto part = adapters_.size() == 1 ? into : one_;
    one.product->backward_input(stream_, dy, rows_of_b(b_, one), part, scratch_);
    kernels::scale<T>(stream_, factor_, part.flat());
    if (adapters_.size() > 1) {
        kernels::put_columns<T>(stream_, part, first_inner(k), into);
    }
}

template <class T>
void Adapters<T>::add_output(TensorAddress<const T, 2> u, TensorAddress<T, 2> y) const {
    for (std::size_t k = 0; k < adapters_.size(); ++k) {
        const auto& one = adapters_[k];
        const auto added = wide(one.position.columns);
        one.product->forward(stream_, part_of_inner(u, k), rows_of_b(b_, one), {}, added, scratch_);
        kernels::add_columns<T>(stream_, added, one.position.first_column, y);
    }
}

template <class T>
void Adapters<T>::project_gradient(TensorAddress<const T, 2> dy, TensorAddress<T, 2> du) const {
    for (std::size_t k = 0; k < adapters_.size(); ++k) {
        project_columns(columns_of(dy, adapters_[k]), k, du);
    }
}

template <class T>
void Adapters<T>::add_input_gradient(TensorAddress<const T, 2> du, TensorAddress<T, 2> dx) const {
    const auto added = wide(dx.extent(1));
    product_of_a_->backward_input(stream_, du, a_, added, scratch_);
    kernels::add_columns<T>(stream_, added, 0, dx);
}

template <class T>
void Adapters<T>::weight_gradients(TensorAddress<const T, 2> x,
                                   TensorAddress<const T, 2> dy,
                                   TensorAddress<const T, 2> u,
                                   TensorAddress<const T, 2> du,
                                   TensorAddress<float, 2> d_a,
                                   TensorAddress<float, 2> d_b,
                                   kernels::Accumulate accumulate) const {
    for (std::size_t k = 0; k < adapters_.size(); ++k) {
        const auto& one = adapters_[k];
        one.product->backward_weight(stream_, part_of_inner(u, k), columns_of(dy, one), rows_of_b(d_b, one),
                                     accumulate, scratch_);
    }
    product_of_a_->backward_weight(stream_, x, du, d_a, accumulate, scratch_);
}

template <class T>
void Adapters<T>::forward(TensorAddress<const T, 2> x, TensorAddress<T, 2> y) const {
    project_input(x, inner_);
    add_output(inner_, y);
}

template <class T>
void Adapters<T>::backward_input(TensorAddress<const T, 2> dy, TensorAddress<T, 2> dx) const {
    project_gradient(dy, inner_);
    add_input_gradient(inner_, dx);
}

template <class T>
void Adapters<T>::backward_weight(TensorAddress<const T, 2> x,
                                  TensorAddress<const T, 2> dy,
                                  TensorAddress<float, 2> d_a,
                                  TensorAddress<float, 2> d_b,
                                  kernels::Accumulate accumulate) const {
    project_input(x, inner_);
    for (std::size_t k = 0; k < adapters_.size(); ++k) {
        const auto& one = adapters_[k];
        const auto d_columns = columns_of(dy, one);
        one.product->backward_weight(stream_, part_of_inner(inner_, k), d_columns, rows_of_b(d_b, one),
                                     accumulate, scratch_);
        project_columns(d_columns, k, inner_);  // in place of the part of u
    }
    product_of_a_->backward_weight(stream_, x, inner_, d_a, accumulate, scratch_);
}

template class Adapters<float>;
template class Adapters<tensor::bfloat16>;

}  // namespace ziggurat::model
