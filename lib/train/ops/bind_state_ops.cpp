#include "train/ops/bind_state_ops.hpp"

#include <algorithm>
#include <utility>

#include "base/contract.hpp"
#include "base/exact_sum.hpp"
#include "kernels/elementwise.hpp"
#include "kernels/gradient_norm.hpp"
#include "layout/parameter_groups.hpp"
#include "tensor/bfloat16.hpp"
#include "train/ops/chunk_update.hpp"

namespace ziggurat::train {

using kernels::VectorAddress;
using schedule::Op;
using schedule::Operand;
using schedule::Role;
using tensor::bfloat16;

namespace {

const schedule::Buffer& buffer_of(const StateContext& context, const Operand& operand) {
    return context.program.buffers.at(operand.buffer);
}

template <class E>
VectorAddress<E> run_of(const StateContext& context, const Operand& operand, std::size_t index) {
    const auto run = operand.runs.at(index);
    return VectorAddress<E>::at(context.memory.at(buffer_of(context, operand)) + run.offset,
                                {run.bytes / static_cast<std::int64_t>(sizeof(E))});
}

/// Returns the operands with this role, in order: one for each unit of a chunk or bucket.
std::vector<const Operand*> with_role(const std::vector<Operand>& operands, Role role) {
    std::vector<const Operand*> found;
    for (const auto& operand : operands) {
        if (operand.role == role) {
            found.push_back(&operand);
        }
    }
    return found;
}

/// Returns the elements of the unit's flat range that range number `index` of `operand` covers.
layout::ElementRange elements_of(const StateContext& context, const Operand& operand, std::size_t index) {
    const auto& buffer = buffer_of(context, operand);
    const std::int64_t element_bytes = schedule::element_bytes(buffer);
    const auto begin = buffer.first_element + operand.runs[index].offset / element_bytes;
    return {begin, begin + operand.runs[index].bytes / element_bytes};
}

/// Elements of one parameter group that this rank counts in norms, or does not count.
struct UpdatedRange {
    layout::ElementRange range;
    float weight_decay = 0;
    bool is_counted = false;
};

/// Divides the elements of a group at the bounds of `counted`, which are in ascending order.
void add_ranges(const layout::ParameterGroup& group,
                layout::ElementRange held,
                const std::vector<layout::ElementRange>& counted,
                std::vector<UpdatedRange>& ranges) {
    const auto whole = intersection(held, group.range);
    auto begin = whole.begin;
    const auto add = [&](std::int64_t end, bool is_counted) {
        if (begin < end) {
            ranges.push_back({{begin, end}, group.weight_decay, is_counted});
            begin = end;
        }
    };
    for (const auto& one : counted) {
        if (const auto common = intersection(whole, one); !common.empty()) {
            add(common.begin, false);
            add(common.end, true);
        }
    }
    add(whole.end, false);
}

template <class T, class G>
Action bind_update_as(const StateContext& context, const Op& op) {
    const auto masters = with_role(op.writes, Role::master);
    const auto gradients = with_role(op.reads, Role::gradient);
    const auto firsts = with_role(op.writes, Role::first_moment);
    const auto seconds = with_role(op.writes, Role::second_moment);
    const auto published = with_role(op.writes, Role::parameters);
    const auto averages = with_role(op.writes, Role::average);
    ZG_EXPECTS(!masters.empty() && gradients.size() == masters.size() && firsts.size() == masters.size() &&
               seconds.size() == masters.size());
    ZG_EXPECTS(published.empty() || published.size() == masters.size());
    ZG_EXPECTS(averages.empty() || averages.size() == masters.size());

    const auto kept = with_role(op.writes, Role::undo);
    const auto undone = with_role(op.reads, Role::undo);
    ZG_EXPECTS(kept.empty() || undone.empty());
    const auto& undo = kept.empty() ? undone : kept;
    ZG_EXPECTS(undo.empty() || undo.size() == masters.size());
    const auto sums = with_role(op.writes, Role::update_sums);
    ZG_EXPECTS(sums.empty() || sums.size() == masters.size());

    std::vector<UpdatePiece<T, G>> pieces;
    for (std::size_t i = 0; i < masters.size(); ++i) {
        const schedule::UnitId unit = buffer_of(context, *masters[i]).unit;
        const auto groups = layout::parameter_groups(context.spec, context.model.table.units.at(unit),
                                                     context.model.flats.at(unit));
        const auto counted =
            sums.empty() ? std::vector<layout::ElementRange>{} : context.model.counted_ranges(unit);
        for (std::size_t run = 0; run < masters[i]->runs.size(); ++run) {
            const auto held = elements_of(context, *masters[i], run);
            std::vector<UpdatedRange> ranges;
            for (const auto& group : groups) {
                add_ranges(group, held, counted, ranges);
            }
            for (const auto& [range, weight_decay, is_counted] : ranges) {
                const auto at = range.begin - held.begin;
                const auto size = range.size();
                UpdatePiece<T, G> piece;
                piece.weight_decay = weight_decay;
                if (is_counted) {
                    const auto squares = run_of<ExactSum>(context, *sums[i], 0);
                    piece.weight_squares = squares.part(0, 1).only();
                    piece.change_squares = squares.part(1, 1).only();
                }
                piece.master = run_of<float>(context, *masters[i], run).part(at, size);
                piece.gradient = run_of<const G>(context, *gradients[i], run).part(at, size);
                piece.first_moment = run_of<float>(context, *firsts[i], run).part(at, size);
                piece.second_moment = run_of<float>(context, *seconds[i], run).part(at, size);
                if (!published.empty()) {
                    piece.parameters = run_of<T>(context, *published[i], run).part(at, size);
                }
                if (!averages.empty()) {
                    piece.average = run_of<float>(context, *averages[i], run).part(at, size);
                }
                if (!undo.empty()) {
                    const auto before = run_of<float>(context, *undo[i], run);
                    const auto vectors = static_cast<std::size_t>(before.size() / held.size());
                    ZG_EXPECTS(vectors <= piece.undo.size());
                    for (std::size_t v = 0; v < vectors; ++v) {
                        piece.undo[v] = before.part(static_cast<std::int64_t>(v) * held.size() + at, size);
                    }
                }
                pieces.push_back(piece);
            }
        }
    }
    const auto inputs = with_role(op.reads, Role::update_inputs);
    ZG_EXPECTS(inputs.size() == 1);
    const auto step = run_of<const kernels::StepInputs>(context, *inputs.front(), 0).part(0, 1).only();
    const auto& optimizer = context.spec.optimizer;
    const kernels::AdamW adamw{optimizer.beta1, optimizer.beta2, optimizer.epsilon};
    if (!kept.empty()) {
        return {.run = [pieces = std::move(pieces), adamw, step, &stream = context.stream] {
            for (const auto& piece : pieces) {
                speculate(stream, adamw, step, piece);
            }
        }};
    }
    if (!undone.empty()) {
        return {.run = [pieces = std::move(pieces), adamw, step, &stream = context.stream] {
            for (const auto& piece : pieces) {
                redo(stream, adamw, step, piece);
            }
        }};
    }
    return {.run = [pieces = std::move(pieces), adamw, step, &stream = context.stream] {
        for (const auto& piece : pieces) {
            update(stream, adamw, step, piece);
            average(stream, step, piece);
        }
    }};
}

/// Binds the publication of master weights.
template <class T>
Action bind_publication_as(const StateContext& context, const Op& op) {
    std::vector<std::pair<VectorAddress<const float>, VectorAddress<T>>> pairs;
    const auto masters = with_role(op.reads, Role::master);
    const auto published = with_role(op.writes, Role::parameters);
    ZG_EXPECTS(masters.size() == published.size());
    for (std::size_t i = 0; i < masters.size(); ++i) {
        ZG_EXPECTS(masters[i]->runs.size() == published[i]->runs.size());
        for (std::size_t run = 0; run < masters[i]->runs.size(); ++run) {
            pairs.emplace_back(run_of<const float>(context, *masters[i], run),
                               run_of<T>(context, *published[i], run));
        }
    }
    return {.run = [pairs = std::move(pairs), &stream = context.stream] {
        for (const auto& [from, into] : pairs) {
            kernels::convert<float, T>(stream, from, into);
        }
    }};
}

bool is_narrow(const StateContext& context, const Operand& operand) {
    return buffer_of(context, operand).type == spec::DType::bf16;
}

/// Binds the accumulation of gradients; the first micro-batch of a step overwrites the sum.
template <class Sum>
Action bind_add_as(const StateContext& context, const Op& op) {
    std::vector<std::pair<VectorAddress<const float>, VectorAddress<Sum>>> pairs;
    ZG_EXPECTS(op.reads.size() >= op.writes.size());
    for (std::size_t i = 0; i < op.writes.size(); ++i) {
        for (std::size_t run = 0; run < op.writes[i].runs.size(); ++run) {
            pairs.emplace_back(run_of<const float>(context, op.reads[i], run),
                               run_of<Sum>(context, op.writes[i], run));
        }
    }
    return {.run = [pairs = std::move(pairs), adds = op.accumulate, &stream = context.stream] {
        for (const auto& [from, into] : pairs) {
            if (adds) {
                kernels::add_to(stream, from, into);
            } else {
                kernels::convert<float, Sum>(stream, from, into);
            }
        }
    }};
}

template <class G>
Action bind_norm_as(const StateContext& context,
                    const std::vector<const Operand*>& gradients,
                    const Operand& sum) {
    std::vector<VectorAddress<const G>> ranges;
    for (const auto* operand : gradients) {
        for (std::size_t run = 0; run < operand->runs.size(); ++run) {
            ranges.push_back(run_of<const G>(context, *operand, run));
        }
    }
    const auto squares = run_of<ExactSum>(context, sum, 0).part(0, 1).only();
    return {.run = [ranges = std::move(ranges), &stream = context.stream, squares] {
        for (const auto& range : ranges) {
            kernels::sum_of_squares(stream, range, squares);
        }
    }};
}

}  // namespace

Action bind_fill(const StateContext& context, const Op& op) {
    // All bits zero is the value zero in every type. The size of a buffer is a multiple of two bytes.
    std::vector<VectorAddress<bfloat16>> ranges;
    for (const auto& operand : op.writes) {
        for (std::size_t run = 0; run < operand.runs.size(); ++run) {
            ranges.push_back(run_of<bfloat16>(context, operand, run));
        }
    }
    return {.run = [ranges = std::move(ranges), &stream = context.stream] {
        for (const auto& range : ranges) {
            kernels::fill_zero<bfloat16>(stream, range);
        }
    }};
}

Action bind_add(const StateContext& context, const Op& op) {
    ZG_EXPECTS(!op.writes.empty());
    return is_narrow(context, op.writes.front()) ? bind_add_as<bfloat16>(context, op)
                                                 : bind_add_as<float>(context, op);
}

Action bind_norm(const StateContext& context, const Op& op) {
    const auto gradients = with_role(op.reads, Role::gradient);
    const auto sums = with_role(op.writes, Role::exact_sums);
    ZG_EXPECTS(!gradients.empty() && sums.size() == 1);
    return is_narrow(context, *gradients.front()) ? bind_norm_as<bfloat16>(context, gradients, *sums.front())
                                                  : bind_norm_as<float>(context, gradients, *sums.front());
}

Action bind_update(const StateContext& context, const Op& op) {
    const bool is_plain = context.spec.precision.compute == spec::DType::f32;
    if (op.purpose == schedule::Purpose::publication) {
        return is_plain ? bind_publication_as<float>(context, op)
                        : bind_publication_as<bfloat16>(context, op);
    }
    if (context.spec.precision.gradient == spec::DType::f32) {
        return is_plain ? bind_update_as<float, float>(context, op)
                        : bind_update_as<bfloat16, float>(context, op);
    }
    return is_plain ? bind_update_as<float, bfloat16>(context, op)
                    : bind_update_as<bfloat16, bfloat16>(context, op);
}

}  // namespace ziggurat::train
