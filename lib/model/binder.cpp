#include "model/binder.hpp"

#include <cmath>

#include "base/contract.hpp"
#include "base/error.hpp"
#include "layout/context/context_heads.hpp"
#include "layout/context/context_rows.hpp"
#include "layout/families/family_descriptor.hpp"
#include "model/operands.hpp"
#include "tensor/bfloat16.hpp"

namespace ziggurat::model {

using layout::PhaseKind;

template <class T>
Binder<T>::Binder(const spec::RunSpec& spec,
                  const layout::FamilyTable& table,
                  layout::TensorPosition position,
                  int context_rank,
                  const device::Stream& stream)
    : spec_{spec}, table_{table}, position_{position}, context_rank_{context_rank}, stream_{stream} {}

template <class T>
kernels::Dropout Binder<T>::dropout(
    Operands& use, bool has_dropout, int layer, int site, std::int64_t first_row) const {
    auto made = use.dropout(spec_, has_dropout, layer, site);
    if (made.probability > 0) {
        made.sequence = spec_.data.seq / spec_.parallel.context;
        made.first_row = first_row;
        made.first_channel = spec_.parallel.has_grid() ? stream_width() * position_.rank : 0;
        made.rows = layout::context_rows(spec_.parallel, context_rank_, spec_.data.seq);
    }
    return made;
}

template <class T>
int Binder<T>::context_of_heads(const Operands& use) const {
    // Each context rank has all tokens of a pass with a KV cache.
    return layout::exchanges_heads(spec_.parallel) && use.cache().sequences == 0 ? spec_.parallel.context : 1;
}

template <class T>
const kernels::Linear<T>& Binder<T>::linear(const kernels::LinearShape& shape) {
    auto at = linears_.find(shape);
    if (at == linears_.end()) {
        at = linears_.emplace(shape, kernels::Linear<T>{stream_, shape}).first;
    }
    return at->second;
}

template <class T>
const kernels::GluProduct& Binder<T>::glu_product(const kernels::GluProductShape& shape) {
    auto at = glu_products_.find(shape);
    if (at == glu_products_.end()) {
        at = glu_products_.emplace(shape, kernels::GluProduct{stream_, shape}).first;
    }
    const auto refusal = at->second.refusal();
    ++glu_ops_.num_ops;
    glu_ops_.num_fused += refusal.empty() ? 1 : 0;
    if (!refusal.empty()) {
        glu_ops_.refusal = refusal;
    }
    return at->second;
}

template <class T>
float Binder<T>::embedding_factor() const {
    const auto& model = spec_.model;
    return layout::family_of(model).scales_embedding ? float(T(std::sqrt(static_cast<float>(model.hidden))))
                                                     : static_cast<float>(model.multiplier.embedding);
}

namespace {

template <class T>
Kernel bound(Binder<T>& binder, const layout::Unit& unit, const layout::Phase& phase, Operands& operands) {
    switch (phase.kind) {
        case PhaseKind::embedding:
            if (operands.op().segment >= 0 || phase.is_of_grid) {
                return bind_embedding_tile(binder, phase, operands);
            }
            return bind_embedding(binder, phase, operands);
        case PhaseKind::norm:
        case PhaseKind::residual_norm:
            return bind_norm(binder, unit, phase, operands);
        case PhaseKind::row_sums:
            return bind_row_sums(binder, unit, phase, operands);
        case PhaseKind::split_norm:
            return bind_split_norm(binder, unit, phase, operands);
        case PhaseKind::linear:
            if (operands.op().column_end > 0) {
                return bind_linear_tile(binder, phase, operands);
            }
            return bind_linear(binder, phase, operands);
        case PhaseKind::head_norm:
            return bind_head_norm(binder, phase, operands);
        case PhaseKind::square_sum:
            return bind_square_sum(binder, operands);
        case PhaseKind::whole_norm:
            return bind_whole_norm(binder, operands);
        case PhaseKind::rope:
            return bind_rope(binder, operands);
        case PhaseKind::attention:
            if (exchanges_heads(operands)) {
                return bind_head_exchange(binder, operands);
            }
            if (is_of_ring(operands)) {
                return bind_ring_attention(binder, unit, phase, operands);
            }
            return bind_attention(binder, unit, phase, operands);
        case PhaseKind::gelu:
        case PhaseKind::gelu_erf:
        case PhaseKind::swiglu:
        case PhaseKind::geglu:
            return bind_activation(binder, phase, operands);
        case PhaseKind::residual:
            return bind_residual(binder, unit, phase, operands);
        case PhaseKind::logits:
            if (binder.spec().parallel.has_grid()) {
                return operands.op().column_end > 0 ? bind_linear_tile(binder, phase, operands)
                                                    : bind_linear(binder, phase, operands);
            }
            if (operands.op().column_end > 0) {
                return bind_logits_tile(binder, phase, operands);
            }
            return bind_logits(binder, phase, operands);
        case PhaseKind::loss:
            if (operands.writes(Role::token_weights)) {
                return bind_pairs(binder, operands);
            }
            if (operands.reads(Role::statistics) || operands.writes(Role::statistics)) {
                return bind_loss_tile(binder, operands);
            }
            return bind_loss(binder, operands);
    }
    throw Error{ErrorKind::internal, "op '" + operands.op().label + "' has an unknown kind of phase"};
}

}  // namespace

template <class T>
Kernel Binder<T>::bind(const schedule::Program& program, const schedule::Op& op, const Arenas& arenas) {
    ZG_EXPECTS(op.kind == schedule::OpKind::compute || op.kind == schedule::OpKind::loss);
    const auto& unit = table_.units.at(op.unit);
    const auto& phase = unit.phases.at(op.phase);
    Operands operands{program, op, arenas};
    auto kernel = bound(*this, unit, phase, operands);
    operands.check_all_taken();
    return kernel;
}

template class Binder<float>;
template class Binder<tensor::bfloat16>;

}  // namespace ziggurat::model
