/// Buffers that live from step to step.
#include "schedule/expand/expand.hpp"

#include <algorithm>

namespace ziggurat::schedule {
namespace {

/// Returns the row of the memory table for a group of kinds.
MemoryCategory line_of(layout::StateGroup group) {
    switch (group) {
        case layout::StateGroup::parameters:
            return MemoryCategory::parameters;
        case layout::StateGroup::gradients:
            return MemoryCategory::gradients;
        case layout::StateGroup::optimizer:
            return MemoryCategory::optimizer;
    }
    return MemoryCategory::none;
}

/// True if this rank keeps the kind of the unit from step to step.
bool is_kept(const spec::RunSpec& spec, const ModelLayout& model, UnitId unit, StateKind kind) {
    const bool has_tensors =
        layout::is_of_frozen(kind) ? model.flats[unit].frozen_elements() > 0 : model.trains(unit);
    return has_tensors && layout::is_kept(kind, spec);
}

/// Returns the number of data ranks over which the kind is sharded.
///
/// For gradients, the plan of their sum determines it.
int shard_degree(const spec::RunSpec& spec, const ModelLayout& model, StateKind kind) {
    if (kind != StateKind::gradients) {
        return layout::shard_degree(kind, model.spans);
    }
    switch (spec.sharding.reduce) {
        case spec::ReducePlan::at_end:
            return 1;
        case spec::ReducePlan::each_microbatch:
            return model.spans.optimizer;
        case spec::ReducePlan::by_span:
            return model.spans.gradients;
    }
    return 1;
}

/// Returns this rank's shard of the unit's region that has the kind.
layout::ElementRange kept_elements(const spec::RunSpec& spec,
                                   const ModelLayout& model,
                                   UnitId unit,
                                   StateKind kind) {
    const std::size_t u = unit;
    const bool is_frozen = layout::is_of_frozen(kind);
    const int degree = shard_degree(spec, model, kind);
    if (degree == 1) {
        return is_frozen ? model.flats[u].frozen() : model.flats[u].trained();
    }
    return (is_frozen ? model.frozen_shards[u] : model.shards[u]).shard(degree, model.data_rank);
}

/// Adds one persistent buffer of a unit that holds `range` of its flat elements.
BufferId state_buffer(Program& program,
                      const ModelLayout& model,
                      UnitId unit,
                      StateKind kind,
                      layout::ElementRange range,
                      spec::DType type) {
    Buffer buffer;
    buffer.name = model.table.units[unit].name + "." + layout::to_string(kind);
    buffer.bytes = range.size() * spec::element_bytes(type);
    buffer.lifetime = Lifetime::persistent;
    buffer.state = kind;
    buffer.consumer = line_of(layout::row_of(kind).group);
    buffer.unit = unit;
    buffer.first_element = range.begin;
    buffer.type = type;
    buffer.stays_on_host = model.stays_on_host(unit);
    return program.add_buffer(std::move(buffer));
}

/// Adds a placeholder for all parameters or gradients of the unit, until a pass replaces it.
BufferId placeholder(
    Program& program, const ModelLayout& model, UnitId unit, StateKind kind, spec::DType type) {
    const bool is_gradient = kind == StateKind::gradients;
    const int made = state_buffer(program, model, unit, kind,
                                  is_gradient ? model.flats[unit].trained() : model.held(unit), type);
    auto& buffer = program.buffers[made];
    buffer.lifetime = Lifetime::transient;
    buffer.tier = buffer.stays_on_host ? spec::Tier::host : spec::Tier::device;
    buffer.name = "all of " + buffer.name;
    return made;
}

/// Adds a host buffer for control values of steps.
BufferId control_buffer(Program& program,
                        const std::string& name,
                        std::int64_t bytes,
                        Lifetime lifetime = Lifetime::persistent,
                        UnitId unit = -1) {
    Buffer buffer;
    buffer.name = name;
    buffer.unit = unit;
    buffer.tier = spec::Tier::host;
    buffer.bytes = bytes;
    buffer.lifetime = lifetime;
    buffer.consumer = MemoryCategory::batch;
    return program.add_buffer(std::move(buffer));
}

/// Adds the buffers of units that are clipped by their own norms.
IndexedVector<UnitId, UnitClipBuffers> unit_clip_buffers(Program& program, const ModelLayout& model) {
    IndexedVector<UnitId, UnitClipBuffers> of_units;
    of_units.resize(model.table.units.size());
    for (const UnitId u : model.units) {
        if (!model.trains(u)) {
            continue;
        }
        const auto made = [&](const char* name, std::int64_t bytes) {
            return control_buffer(program, model.table.units[u].name + " " + name, bytes,
                                  Lifetime::persistent, u);
        };
        of_units[u] = {.exact_sums = made("exact_sums", exact_sums_bytes),
                       .sums_of_device = made("exact_sums of device", exact_sums_bytes),
                       .update_inputs = made("update_inputs", step_inputs_bytes)};
    }
    return of_units;
}

/// Adds a buffer for cosines and sines of all positions; returns -1 if no layer of this rank uses them.
///
/// \param of_windows  those of layers whose window has a theta of its own
int rotations_buffer(Program& program, const spec::RunSpec& spec, const ModelLayout& model, bool of_windows) {
    const bool is_used = std::ranges::any_of(model.units, [&](UnitId unit) {
        return std::ranges::any_of(model.table.units[unit].phases, [&](const layout::Phase& phase) {
            return phase.kind == layout::PhaseKind::rope && phase.has_window_theta == of_windows;
        });
    });
    if (!is_used) {
        return -1;
    }
    Buffer buffer;
    buffer.name = of_windows ? "window_rotations" : "rotations";
    buffer.bytes = spec.data.seq * spec.model.rotary_channels() * 4;
    buffer.lifetime = Lifetime::persistent;
    buffer.consumer = MemoryCategory::workspaces;
    return program.add_buffer(std::move(buffer));
}

}  // namespace

int data_group(Program& program, const ModelLayout& model, int inner, int span) {
    const auto name = model.data_group_name(inner, span);
    const auto known = std::ranges::find(program.groups, name, &Group::name);
    return known != program.groups.end() ? static_cast<int>(known - program.groups.begin())
                                         : program.group(name, model.data_members(inner, span));
}

bool adds_in_place(const spec::RunSpec& spec) {
    return spec.sharding.reduce == spec::ReducePlan::at_end && spec.precision.gradient == spec::DType::f32;
}

StateBuffers add_state(Program& program, const spec::RunSpec& spec, const ModelLayout& model) {
    StateBuffers state;
    state.units.resize(model.table.units.size());
    for (const UnitId u : model.units) {
        for (const auto kind : layout::state_kinds) {
            if (is_kept(spec, model, u, kind)) {
                state.units[u].kept[kind] =
                    state_buffer(program, model, u, kind, kept_elements(spec, model, u, kind),
                                 layout::type_of(kind, spec.precision));
            }
        }
        if (spec.tiers.reuse && model.trains(u)) {
            // Rules refuse decks with other shards or types; searches for a layout may plan such runs.
            auto& gradients = program.buffers[state.units[u][StateKind::gradients]];
            const auto reused = state.units[u][StateKind::parameters];
            const auto& parameters = program.buffers[reused];
            const bool is_equal =
                elements_of(gradients) == elements_of(parameters) && gradients.type == parameters.type;
            gradients.reuses = is_equal && model.has_master() ? reused : BufferId{-1};
        }
    }
    auto& of_trainer = program.trainer_buffers;
    of_trainer.step_inputs = control_buffer(program, "step_inputs", step_inputs_bytes, Lifetime::inputs);
    of_trainer.update_inputs = control_buffer(program, "update_inputs", step_inputs_bytes);
    if (spec.optimizer.clip == spec::ClipPolicy::per_unit) {
        of_trainer.unit_clips = unit_clip_buffers(program, model);
    }
    const auto slots_bytes = std::ssize(model.table.units) * exact_sum_slot_bytes;
    if (spec.logging.norms > 0) {
        of_trainer.update_sums = control_buffer(program, "update_sums", 4 * slots_bytes);
        of_trainer.update_sums_of_device = control_buffer(program, "update_sums of device", 4 * slots_bytes);
    }
    const auto sums_bytes = of_trainer.has_sums_by_unit() ? slots_bytes : exact_sums_bytes;
    of_trainer.exact_sums = control_buffer(program, "exact_sums", sums_bytes);
    of_trainer.sums_of_device = control_buffer(program, "exact_sums of device", sums_bytes);
    of_trainer.rotations = rotations_buffer(program, spec, model, false);
    of_trainer.window_rotations = rotations_buffer(program, spec, model, true);
    for (const UnitId u : model.units) {
        auto& unit = state.units[u];
        if (model.spans.parameters == 1) {
            unit.full_parameters = unit[StateKind::parameters];
            unit.full_frozen = unit[StateKind::frozen];
        } else {
            unit.full_parameters =
                placeholder(program, model, u, StateKind::parameters, spec.precision.compute);
            unit.full_frozen = unit.full_parameters;
        }
        if (!model.trains(u)) {
            continue;
        }
        unit.full_gradients = adds_in_place(spec)
                                  ? unit[StateKind::gradients]
                                  : placeholder(program, model, u, StateKind::gradients, spec::DType::f32);
    }
    return state;
}

}  // namespace ziggurat::schedule
