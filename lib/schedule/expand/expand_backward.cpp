#include <algorithm>

#include "base/contract.hpp"
#include "schedule/expand/expand_phases.hpp"

namespace ziggurat::schedule {

using layout::GradientRule;
using layout::PhaseKind;
using layout::Placement;

/// Returns the gradient of a phase's output in the placement that the phase needs.
///
/// All ranks of a sum use the whole gradient.
PlacedValue PhaseWriter::d_output(UnitId unit, int phase, int microbatch) {
    const auto& writes = unit_of(unit).phases[phase].writes;
    const auto& use = *std::find_if(writes.begin(), writes.end(), [](const layout::ValueUse& written) {
        return written.role == Role::output;
    });
    const auto position = gradients_.at({microbatch, unit, use.value});
    const auto wanted = layout::of_gradient(use.wanted);
    const BufferId buffer = convert(position.buffer, position.placement, wanted,
                                    unit_of(unit).values[use.value], unit, microbatch, Direction::backward);
    return {buffer, wanted, position.is_stream && buffer == position.buffer};
}

BufferId PhaseWriter::sum_buffer(
    BufferId total, UnitId unit, int value, Placement placement, int microbatch) {
    return read_by_deferred_.contains(total) ? gradient_buffer(unit, value, placement, microbatch) : total;
}

/// Returns the buffer of the gradient that `op` writes, and adds the read of the one to which it adds.
///
/// It is the gradient of the sum for residual_norm, otherwise of the input. If no later reader has left one,
/// that of the stream starts with zeros. That of a branch has no other summand, so `op` writes it.
BufferId PhaseWriter::d_stream(Op& op, const layout::Phase& phase) {
    const auto& input = phase.reads.front();
    const int value = phase.kind == PhaseKind::residual_norm ? phase.writes.front().value : input.value;
    const auto known = gradients_.find({op.microbatch, op.unit, value});
    const bool is_known = known != gradients_.end();
    const BufferId buffer =
        is_known ? known->second.buffer : gradient_buffer(op.unit, value, input.wanted, op.microbatch);
    if (!is_known && value != unit_of(op.unit).input) {
        return buffer;
    }
    if (!is_known) {
        Op zeros = op;
        zeros.kind = OpKind::fill;
        zeros.flops = 0;
        zeros.label = "zeros for " + op.label;
        zeros.reads.clear();
        zeros.writes = {whole(draft_.program, buffer, Role::output)};
        add(std::move(zeros));
    }
    op.reads.push_back(whole(draft_.program, buffer, Role::d_input));
    return sum_buffer(buffer, op.unit, value, input.wanted, op.microbatch);
}

/// Adds the gradient from an earlier reader of a value to the one that its later readers have left.
void PhaseWriter::add_to_gradient(
    UnitId unit, int phase, int microbatch, BufferId addend, PlacedValue& total) {
    const int value = unit_of(unit).phases[phase].reads.front().value;
    const BufferId sum = sum_buffer(total.buffer, unit, value, total.placement, microbatch);
    auto op = compute_op(unit, phase, microbatch, Direction::backward);
    op.label = label_of(unit, phase, Direction::backward, microbatch) + " sum";
    op.flops = 0;
    op.row_end = rows(total.placement);
    // It uses no part of a tiled weight.
    op.segment = -1;
    op.column_begin = op.column_end = 0;
    op.reads.push_back(whole(draft_.program, total.buffer, Role::d_input));
    op.reads.push_back(whole(draft_.program, addend, Role::d_addend));
    op.writes.push_back(whole(draft_.program, sum, Role::d_input));
    add(std::move(op));
    total.buffer = sum;
}

/// Returns the gradient of the phase's input, in the placement of the value.
///
/// \param buffer  the gradient that this rank has computed
PlacedValue PhaseWriter::whole_gradient(UnitId unit, int phase, int microbatch, BufferId buffer) {
    const auto& described = unit_of(unit).phases[phase];
    const auto& use = described.reads.front();
    const auto& value = unit_of(unit).values[use.value];
    const bool is_of_columns =
        use.wanted == Placement::replicated && described.writes.front().wanted == Placement::split_width;
    if (model_.tensor() > 1 && (is_of_columns || use.wanted == Placement::gathered)) {
        // Each rank has the part of the gradient that comes from its columns.
        const auto summand = is_of_columns ? Placement::partial : Placement::gathered_partial;
        return {convert(buffer, summand, value.placement, value, unit, microbatch, Direction::backward),
                value.placement};
    }
    return {buffer, use.wanted};
}

/// Records the gradient of the phase's input.
///
/// If later readers have left a gradient in another buffer, adds to that.
void PhaseWriter::leave_gradient(UnitId unit, int phase, int microbatch, const PlacedValue& left) {
    const auto& use = unit_of(unit).phases[phase].reads.front();
    const ValueKey key{microbatch, unit, use.value};
    const auto known = gradients_.find(key);
    if (known == gradients_.end() || known->second.buffer == left.buffer) {
        gradients_[key] = left;
        return;
    }
    ZG_ENSURES(known->second.is_stream && known->second.placement == left.placement);
    add_to_gradient(unit, phase, microbatch, left.buffer, known->second);
}

/// True if the gradient of a product's weight is needed. It also needs the product's input.
bool PhaseWriter::trains_weight(UnitId unit, int phase) const {
    const auto& uses = unit_of(unit).phases[phase].parameters;
    return std::any_of(uses.begin(), uses.end(), [&](const layout::ParameterUse& use) {
        const auto& parameter = unit_of(use.unit >= 0 ? use.unit : unit).parameters[use.parameter];
        return parameter.is_trained && (use.unit >= 0 || layout::needs_input(parameter.role));
    });
}

/// \param x  the product's input; -1 where only the bias is trained
void PhaseWriter::add_weight_product(Op op,
                                     BufferId x,
                                     const PlacedValue& d_y,
                                     std::int64_t workspace_bytes) {
    if (draft_.program.find_write(op, Role::d_weight) == nullptr) {
        const auto& phase = unit_of(op.unit).phases[op.phase];
        const bool is_of_adapters = draft_.program.find_write(op, Role::d_lora_a) != nullptr;
        op.flops = is_of_adapters ? phase.adapter_flops_per_token * static_cast<double>(op.row_end) : 0;
    }
    if (x >= 0) {
        op.reads.push_back(whole(draft_.program, x, Role::input));
    }
    op.reads.push_back(whole(draft_.program, d_y.buffer, Role::d_output));
    add_workspace(op, workspace_bytes);
    const auto number = std::ssize(draft_.program.ops);
    add(std::move(op));
    if (is_deferring_) {
        defer_ops(number, d_y.buffer);
    }
}

void PhaseWriter::defer_ops(std::ptrdiff_t first, BufferId d_y) {
    auto& ops = draft_.program.ops;
    read_by_deferred_.insert(d_y);
    for (auto op = ops.begin() + first; op != ops.end(); ++op) {
        op->is_deferred = true;
        deferred_[{op->microbatch, chunk_}].push_back(std::move(*op));
    }
    ops.erase(ops.begin() + first, ops.end());
}

void PhaseWriter::backward_linear(UnitId unit, int phase, int microbatch) {
    const auto& described = unit_of(unit).phases[phase];
    auto& program = draft_.program;
    const auto d_y = d_output(unit, phase, microbatch);
    const auto& input = described.reads.front();
    const BufferId x =
        trains_weight(unit, phase) ? use_value(unit, input, microbatch, Direction::backward) : BufferId{};
    const bool passes_on = model_.passes_gradient_on(unit, phase);
    const BufferId d_x =
        passes_on ? gradient_buffer(unit, input.value, input.wanted, microbatch) : BufferId{};

    PlacedValue left;
    auto through = compute_op(unit, phase, microbatch, Direction::backward_input);
    if (passes_on) {
        through.reads.push_back(whole(program, d_y.buffer, Role::d_output));
        add_parameters(through, described, {Role::weight, Role::lora_a, Role::lora_b});
        through.writes.push_back(whole(program, d_x, Role::d_input));
        add_workspace(through, workspace_bytes(described, Direction::backward_input));
        add(std::move(through));
        // The product for the weight hides the sum.
        left = whole_gradient(unit, phase, microbatch, d_x);
    }

    auto weight = compute_op(unit, phase, microbatch, Direction::backward_weight);
    if (add_gradients(weight, described)) {
        add_parameters(weight, described, {Role::lora_a, Role::lora_b});
        add_weight_product(std::move(weight), x, d_y, workspace_bytes(described, Direction::backward_weight));
    }
    if (passes_on) {
        leave_gradient(unit, phase, microbatch, left);
    }
}

void PhaseWriter::backward_phase(UnitId unit, int phase, int microbatch) {
    const auto& described = unit_of(unit).phases[phase];
    auto& program = draft_.program;
    if (model_.tiling(unit).cuts(phase) && !described.is_of_grid) {
        if (described.kind == PhaseKind::embedding) {
            backward_lookup_tiles(unit, phase, microbatch);
        } else {
            backward_tiles(unit, phase, microbatch);
        }
        return;
    }
    if (described.is_of_grid) {
        backward_grid(unit, phase, microbatch);
        return;
    }
    if (described.kind == PhaseKind::linear) {
        backward_linear(unit, phase, microbatch);
        return;
    }
    const auto d_y = d_output(unit, phase, microbatch);
    auto op = compute_op(unit, phase, microbatch, Direction::backward);
    op.reads.push_back(whole(program, d_y.buffer, Role::d_output));
    const bool is_split_norm = described.kind == PhaseKind::split_norm;
    const bool is_norm =
        described.kind == PhaseKind::norm || described.kind == PhaseKind::residual_norm || is_split_norm;
    const bool adds_to_stream = is_norm || described.kind == PhaseKind::row_sums;
    const bool has_branch = described.reads.size() > 1 && described.reads[1].role == Role::branch;
    BufferId d_x = -1;
    const auto known = adds_to_stream ? gradients_.find({microbatch, unit, described.reads.front().value})
                                      : gradients_.end();
    // The gradient of a branch is complete: only the parts of its norm add to it.
    const bool is_stream = known != gradients_.end()
                               ? known->second.is_stream
                               : adds_to_stream && described.reads.front().value == unit_of(unit).input;
    switch (described.gradient) {
        case GradientRule::fresh:
            d_x = gradient_buffer(unit, described.reads.front().value, described.reads.front().wanted,
                                  microbatch);
            break;
        case GradientRule::in_place:
            d_x = d_y.buffer;
            ZG_ENSURES(!read_by_deferred_.contains(d_x));
            op.reads.push_back(whole(program, d_x, Role::d_input));
            break;
        case GradientRule::add_in_place:
            d_x = d_stream(op, described);
            break;
        case GradientRule::pass_through:
            d_x = d_y.buffer;
            break;
        case GradientRule::none:
            break;
    }
    for (const auto& use : described.kept) {
        op.reads.push_back(whole(program, use_value(unit, use, microbatch, Direction::backward), use.role));
    }
    const bool is_whole_norm = described.kind == PhaseKind::whole_norm;
    if (is_norm || is_whole_norm || described.kind == PhaseKind::head_norm) {
        add_parameters(op, described, {Role::gain});
    }
    if (described.kind == PhaseKind::embedding) {
        op.reads.push_back(batch(BatchTensor::tokens, microbatch));
        op.reads.push_back(batch(BatchTensor::positions, microbatch));
    } else if (described.kind == PhaseKind::rope) {
        add_rotations(op, described);
    } else if (described.kind == PhaseKind::attention) {
        add_starts(op, described);
    }
    if (described.has_dropout) {
        add_dropout_reads(op);
    }
    if (d_x >= 0 && described.gradient != GradientRule::pass_through) {
        op.writes.push_back(whole(program, d_x, Role::d_input));
    }
    BufferId d_branch = d_x;
    if (has_branch && described.changes_branch()) {
        d_branch = gradient_buffer(unit, described.reads[1].value, described.reads[1].wanted, microbatch);
        op.writes.push_back(whole(program, d_branch, Role::d_branch));
    }
    if ((is_whole_norm || is_split_norm) && model_.passes_gradient_on(unit, phase)) {
        const auto& sums = described.reads[1];
        const auto placement = unit_of(unit).values[sums.value].placement;
        const BufferId d_sums = gradient_buffer(unit, sums.value, placement, microbatch);
        op.writes.push_back(whole(program, d_sums, Role::d_square_sums));
        gradients_[{microbatch, unit, sums.value}] = {d_sums, placement};
    }
    add_gradients(op, described);
    add_workspace(op, workspace_bytes(described, Direction::backward));
    const bool passes = described.gradient == GradientRule::pass_through && !described.changes_branch();
    if (!passes && !op.writes.empty()) {
        add(std::move(op));
    }

    if (has_branch) {
        // All ranks of a sum use its whole gradient.
        const auto placement = layout::of_gradient(described.reads[1].wanted);
        const bool is_sum = described.gradient != GradientRule::pass_through || d_y.is_stream;
        gradients_[{microbatch, unit, described.reads[0].value}] = {d_x, placement, is_sum};
        gradients_[{microbatch, unit, described.reads[1].value}] = {d_branch, placement,
                                                                    is_sum && d_branch == d_x};
    } else if (adds_to_stream) {
        gradients_[{microbatch, unit, described.reads[0].value}] = {d_x, described.reads[0].wanted,
                                                                    is_stream};
    } else if (d_x >= 0) {
        leave_gradient(unit, phase, microbatch, whole_gradient(unit, phase, microbatch, d_x));
    }
}

/// Writes backward of the phases before `end`, last phase first.
///
/// Skips phases whose output does not depend on a trained tensor.
void PhaseWriter::backward_from(UnitId unit, int end, int microbatch) {
    for (int p = end; p-- > 0;) {
        if (model_.runs_backward(unit, p)) {
            backward_phase(unit, p, microbatch);
        }
    }
}

/// Returns the gradient of the unit's input; -1 if no unit before it is trained.
BufferId PhaseWriter::d_input(UnitId unit, int microbatch) const {
    const bool is_wanted = unit > 0 && model_.runs_backward(unit - 1);
    return is_wanted ? gradients_.at({microbatch, unit, unit_of(unit).input}).buffer : BufferId{};
}

BufferId PhaseWriter::backward(UnitId unit, int microbatch, BufferId d_out) {
    const auto& described = unit_of(unit);
    gradients_[{microbatch, unit, described.output}] = {d_out, outside_, true};
    backward_from(unit, static_cast<int>(described.phases.size()), microbatch);
    return d_input(unit, microbatch);
}

void PhaseWriter::deferred_weight_products(int microbatch, int chunk) {
    for (auto& op : deferred_[{microbatch, chunk}]) {
        add(std::move(op));
    }
    deferred_.erase({microbatch, chunk});
}

}  // namespace ziggurat::schedule
