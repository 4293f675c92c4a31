#include "layout/families/activations.hpp"
#include "schedule/adds_bias.hpp"
#include "schedule/expand/expand_phases.hpp"

namespace ziggurat::schedule {

using layout::PhaseKind;

BufferId PhaseWriter::use_value(UnitId unit,
                                const layout::ValueUse& use,
                                int microbatch,
                                Direction direction) {
    const ValueKey key{microbatch, unit, use.value};
    auto& position = values_.at(key);
    if (position.placement == use.wanted || model_.tensor() == 1) {
        return position.buffer;
    }
    const auto known = converted_.find({key, use.wanted, direction});
    if (known != converted_.end()) {
        return known->second;
    }
    const auto& value = unit_of(unit).values[use.value];
    const int made =
        convert(position.buffer, position.placement, use.wanted, value, unit, microbatch, direction);
    if (layout::is_sum(position.placement)) {
        position = {made, use.wanted};  // backward does not sum again
    } else {
        converted_[{key, use.wanted, direction}] = made;
    }
    return made;
}

/// Adds the parameters of a phase. Of the summands of an output, one has the bias.
void PhaseWriter::add_summand_parameters(Op& op, const layout::Phase& phase) {
    if (adds_bias(model_, op.unit, phase)) {
        add_parameters(op, phase);
    } else {
        add_parameters(op, phase, {Role::weight, Role::table, Role::lora_a, Role::lora_b});
    }
}

void PhaseWriter::forward_phase(UnitId unit, int phase, int microbatch) {
    const auto& described = unit_of(unit).phases[phase];
    if (model_.tiling(unit).cuts(phase) && !described.is_of_grid) {
        if (described.kind == PhaseKind::embedding) {
            forward_lookup_tiles(unit, phase, microbatch);
        } else {
            forward_tiles(unit, phase, microbatch);
        }
        return;
    }
    if (described.is_of_grid) {
        forward_grid(unit, phase, microbatch);
        return;
    }
    auto& program = draft_.program;
    auto op = compute_op(unit, phase, microbatch, Direction::forward);
    for (const auto& use : described.reads) {
        op.reads.push_back(whole(program, use_value(unit, use, microbatch, Direction::forward), use.role));
    }
    add_summand_parameters(op, described);
    switch (described.kind) {
        case PhaseKind::embedding:
            op.reads.push_back(batch(BatchTensor::tokens, microbatch));
            op.reads.push_back(batch(BatchTensor::positions, microbatch));
            break;
        case PhaseKind::rope:
            add_rotations(op, described);
            break;
        case PhaseKind::attention:
            if (program.variant == Variant::cached) {
                add_cache(op, described);
            } else {
                add_starts(op, described);
            }
            break;
        case PhaseKind::norm:
        case PhaseKind::row_sums:
        case PhaseKind::split_norm:
        case PhaseKind::residual_norm:
        case PhaseKind::head_norm:
        case PhaseKind::square_sum:
        case PhaseKind::whole_norm:
        case PhaseKind::linear:
        case PhaseKind::gelu:
        case PhaseKind::gelu_erf:
        case PhaseKind::swiglu:
        case PhaseKind::geglu:
        case PhaseKind::residual:
        case PhaseKind::logits:
        case PhaseKind::loss:
            break;
    }
    if (described.has_dropout && program.variant == Variant::train) {
        add_dropout_reads(op);
    }
    for (const auto& use : described.writes) {
        if (use.role == Role::lse && program.variant == Variant::cached) {
            continue;  // only backward reads it
        }
        const bool shares = described.writes_in_place && &use == &described.writes.front();
        const BufferId buffer =
            shares ? op.reads.front().buffer
                   : value_buffer(unit, use.value, use.wanted, microbatch, is_kept(unit, use.value));
        if (shares && is_kept(unit, use.value)) {
            keep(program.buffers[buffer], unit, use.value);
            program.buffers[buffer].name = layout::activation_name(unit_of(unit), use.value);
        }
        values_[{microbatch, unit, use.value}] = {buffer, use.wanted};
        op.writes.push_back(whole(program, buffer, use.role));
    }
    add_workspace(op, workspace_bytes(described, Direction::forward));
    add(std::move(op));
}

BufferId PhaseWriter::forward(UnitId unit, int microbatch, BufferId input) {
    const auto& described = unit_of(unit);
    if (described.input >= 0) {
        values_[{microbatch, unit, described.input}] = {input, outside_};
    }
    for (std::size_t p = 0; p < described.phases.size(); ++p) {
        forward_phase(unit, static_cast<int>(p), microbatch);
    }
    return use_value(unit, {described.output, Role::output, outside_}, microbatch, Direction::forward);
}

}  // namespace ziggurat::schedule
