#include "schedule/expand/expand_phases.hpp"

#include <algorithm>

#include "layout/families/attention_window.hpp"
#include "spec/weight_versions.hpp"

namespace ziggurat::schedule {

using layout::PhaseKind;
using layout::Placement;

namespace {

constexpr std::int64_t gradient_bytes = 4;

/// Adds `run` to the operand with that role and buffer; merges it with the last range if they are
/// adjacent.
void add_run(std::vector<Operand>& operands, BufferId buffer, Role role, ByteRange run) {
    for (auto& operand : operands) {
        if (operand.role == role && operand.buffer == buffer) {
            auto& last = operand.runs.back();
            if (last.offset + last.bytes == run.offset) {
                last.bytes += run.bytes;
            } else {
                operand.runs.push_back(run);
            }
            return;
        }
    }
    operands.push_back({buffer, role, {run}});
}

/// Returns the role of a parameter in a phase; the head uses a tied table as its weight.
Role role_of(const layout::Parameter& parameter, const layout::ParameterUse& use) {
    return use.unit >= 0 ? Role::weight : parameter.role;
}

/// Returns the elements of a parameter that an op uses.
///
/// An op that covers some rows of a weight uses those rows. Of the parts of a joined matrix or vector, the
/// first one covers all.
layout::ElementRange used_part(const Op& op,
                               Role role,
                               const layout::FlatLayout& flat,
                               const layout::ParameterUse& use,
                               const layout::Parameter& parameter,
                               int tensor) {
    const auto range = flat.parameter(use.parameter);
    if (op.column_end == 0) {
        return range;
    }
    if (parameter.joined_to_previous || role == Role::position_table) {
        return {};
    }
    const auto width = role == Role::bias ? 1 : layout::local_extents(parameter, tensor).back();
    return {range.begin + op.column_begin * width, range.begin + op.column_end * width};
}

}  // namespace

PhaseWriter::PhaseWriter(const spec::RunSpec& spec,
                         const ModelLayout& model,
                         Variant variant,
                         const CachedPass& cached)
    : spec_{spec},
      model_{model},
      workspaces_{layout::make_workspaces(spec, variant == Variant::train)},
      windowed_workspaces_{layout::make_workspaces(
          spec, variant == Variant::train, layout::reached_window(spec.model.window, spec.data.seq))},
      outside_{model.has_grid()                               ? Placement::split_width
               : spec.parallel.sequence && model.tensor() > 1 ? Placement::split_tokens
                                                              : Placement::replicated} {
    auto& program = draft_.program;
    program.variant = variant;
    program.cached = cached;
    program.rank = model.rank;
    program.microbatches =
        variant == Variant::train ? static_cast<int>(spec::expanded_microbatches(spec)) : 1;
    program.is_by_layer = variant == Variant::train && spec.train.is_by_layer();
    program.layers = spec.model.layers;
    program.lane(Engine::compute);
    if (model.stage == 0 && model.embedding_on_host) {
        host_lane_ = program.operator_lane();
    }
    draft_.state = add_state(program, spec, model);
    if (variant == Variant::cached) {
        add_caches();
    }
    for (int m = 0; m < program.microbatches; ++m) {
        add_batch(m);
    }
}

std::int64_t PhaseWriter::rows(Placement placement) const {
    switch (placement) {
        case Placement::split_tokens:
            return model_.tokens / model_.tensor();
        case Placement::gathered:
        case Placement::gathered_partial:
            return model_.tokens * model_.gathered_groups();
        case Placement::replicated:
        case Placement::split_width:
        case Placement::partial:
            break;
    }
    return model_.tokens;
}

std::string PhaseWriter::label_of(UnitId unit, int phase, Direction direction, int microbatch) const {
    const auto& described = unit_of(unit);
    const std::string way = direction == Direction::none ? "pack" : to_string(direction);
    return described.name + "." + described.phases[phase].name + " " + way + " " + std::to_string(microbatch);
}

std::size_t PhaseWriter::num_tiles(UnitId unit, int phase) const {
    const auto& tiling = model_.tiling(unit);
    if (!tiling.cuts(phase)) {
        return 1;
    }
    const auto& parts = tiling.of_phase[phase];
    return std::count_if(parts.begin(), parts.end(),
                         [&](int segment) { return !tiling.segments[segment].rows.empty(); });
}

Op PhaseWriter::compute_op(
    UnitId unit, int phase, int microbatch, Direction direction, std::size_t part) const {
    const auto& described = unit_of(unit).phases[phase];
    Op op;
    op.kind = OpKind::compute;
    if (described.kind == PhaseKind::embedding && host_lane_ >= 0) {
        op.lane = host_lane_;
    }
    op.direction = direction;
    op.unit = unit;
    op.phase = phase;
    op.microbatch = microbatch;
    op.row_end = described.writes.empty() ? model_.tokens : rows(described.writes.front().wanted);
    const auto keys = layout::mean_keys(spec_.data.seq, described.window);
    const auto per_token = described.flops_per_token + described.adapter_flops_per_token +
                           described.flops_per_token_and_key * keys;
    const auto share = direction == Direction::backward ? 2.0 : 1.0;
    op.flops = share * per_token * static_cast<double>(op.row_end);
    op.label = label_of(unit, phase, direction, microbatch);
    const auto& tiling = model_.tiling(unit);
    if (tiling.is_cut() && !tiling.of_phase[phase].empty()) {
        op.segment = tiling.of_phase[phase].at(part);
        const auto& rows_of_weight = tiling.segments[op.segment].rows;
        op.column_begin = rows_of_weight.begin;
        op.column_end = rows_of_weight.end;
        if (!rows_of_weight.empty()) {
            const double share_of_tile = described.out > 0 ? static_cast<double>(rows_of_weight.size()) /
                                                                 static_cast<double>(described.out)
                                                           : 0;
            // Adapters have an op of their own.
            op.flops = share * described.flops_per_token * static_cast<double>(op.row_end) * share_of_tile;
            op.label += " tile " + std::to_string(part);
        }
    }
    return op;
}

Op PhaseWriter::adapter_op(UnitId unit, int phase, int microbatch, Direction direction) const {
    // The segment of the adapters of a tiled phase follows its tiles.
    const bool is_tiled = model_.tiling(unit).cuts(phase);
    auto op = compute_op(unit, phase, microbatch, direction, is_tiled ? num_tiles(unit, phase) : 0);
    const auto per_token = unit_of(unit).phases[phase].adapter_flops_per_token;
    op.flops = per_token * static_cast<double>(op.row_end);
    return op;
}

void PhaseWriter::add_parameters(Op& op, const layout::Phase& phase, const std::vector<Role>& roles) {
    for (const auto& use : phase.parameters) {
        const UnitId owner = use.unit >= 0 ? use.unit : op.unit;
        const auto& parameter = unit_of(owner).parameters[use.parameter];
        const auto role = role_of(parameter, use);
        if (!roles.empty() && std::find(roles.begin(), roles.end(), role) == roles.end()) {
            continue;
        }
        const auto range = used_part(op, role, model_.flats[owner], use, parameter, model_.tensor());
        if (range.empty()) {
            continue;
        }
        const auto& state = draft_.state.units[owner];
        const BufferId buffer = parameter.is_trained ? state.full_parameters : state.full_frozen;
        const auto first = draft_.program.buffers[buffer].first_element;
        const std::int64_t width = model_.element_bytes;
        add_run(op.reads, buffer, role, {(range.begin - first) * width, range.size() * width});
    }
}

bool PhaseWriter::add_gradients(Op& op, const layout::Phase& phase, const std::vector<Role>& roles) {
    bool has_any = false;
    for (const auto& use : phase.parameters) {
        const UnitId owner = use.unit >= 0 ? use.unit : op.unit;
        const auto& parameter = unit_of(owner).parameters[use.parameter];
        if (!parameter.is_trained) {
            continue;
        }
        const auto role = role_of(parameter, use);
        if (!roles.empty() && std::find(roles.begin(), roles.end(), role) == roles.end()) {
            continue;
        }
        const auto range = used_part(op, role, model_.flats[owner], use, parameter, model_.tensor());
        if (range.empty()) {
            continue;
        }
        has_any = true;
        const auto buffer = draft_.state.units[owner].full_gradients;
        add_run(op.writes, buffer, layout::gradient_of(role),
                {range.begin * gradient_bytes, range.size() * gradient_bytes});
    }
    return has_any;
}

void PhaseWriter::add_dropout_reads(Op& op) {
    const auto& output = unit_of(op.unit).phases[op.phase].writes.front();
    const bool is_turned = model_.is_cube && unit_of(op.unit).values[output.value].is_turned;
    const auto first = is_turned ? spec_.train.micro_batch : 0;
    op.reads.push_back(
        batch_rows(BatchTensor::samples, op.microbatch, first, first + spec_.train.micro_batch));
    add_step_inputs(op);
}

void PhaseWriter::add_starts(Op& op, const layout::Phase& phase) {
    op.reads.push_back(
        batch(phase.window > 0 ? BatchTensor::window_starts : BatchTensor::document_starts, op.microbatch));
}

void PhaseWriter::add_rotations(Op& op, const layout::Phase& phase) {
    const auto& buffers = draft_.program.trainer_buffers;
    op.reads.push_back(batch(BatchTensor::positions, op.microbatch));
    op.reads.push_back(whole(draft_.program,
                             phase.has_window_theta ? buffers.window_rotations : buffers.rotations,
                             Role::rotations));
}

void PhaseWriter::add_step_inputs(Op& op) {
    op.reads.push_back(whole(draft_.program, draft_.program.trainer_buffers.step_inputs, Role::step_inputs));
}

Operand PhaseWriter::batch(BatchTensor tensor, int microbatch) const {
    const auto& program = draft_.program;
    return whole(program, program.trainer_buffers.of(tensor, microbatch), role_of(tensor));
}

Operand PhaseWriter::batch_rows(BatchTensor tensor,
                                int microbatch,
                                std::int64_t begin,
                                std::int64_t end) const {
    const std::int64_t width = element_bytes(tensor);
    return {draft_.program.trainer_buffers.of(tensor, microbatch),
            role_of(tensor),
            {{begin * width, (end - begin) * width}}};
}

}  // namespace ziggurat::schedule
