/// The buffers that live from step to step.
#include "schedule/expand/expand.hpp"

#include <algorithm>

namespace ziggurat::schedule {
namespace {

constexpr std::int64_t step_inputs_bytes = 128;
constexpr std::int64_t exact_sums_bytes = 1024;

/// Makes one persistent buffer of a unit that holds `range` of its flat elements.
int state_buffer(Program& program,
                 const ModelLayout& model,
                 int unit,
                 StateKind kind,
                 const char* line,
                 layout::ElementRange range,
                 spec::DType type) {
    Buffer buffer;
    buffer.name = model.table.units[static_cast<std::size_t>(unit)].name + "." + layout::to_string(kind);
    buffer.bytes = range.size() * spec::element_bytes(type);
    buffer.lifetime = Lifetime::persistent;
    buffer.state = kind;
    buffer.consumer = line;
    buffer.unit = unit;
    buffer.first_element = range.begin;
    buffer.type = type;
    return program.add_buffer(std::move(buffer));
}

/// A name for all parameters or gradients of the unit, until a pass puts something in its place.
int placeholder(Program& program, const ModelLayout& model, int unit, StateKind kind, spec::DType type) {
    const bool is_gradient = kind == StateKind::gradients;
    const int made = state_buffer(
        program, model, unit, kind, is_gradient ? consumer::gradients : consumer::parameters,
        is_gradient ? model.flats[static_cast<std::size_t>(unit)].trained() : model.held(unit), type);
    auto& buffer = program.buffers[static_cast<std::size_t>(made)];
    buffer.lifetime = Lifetime::transient;
    buffer.name = "all of " + buffer.name;
    return made;
}

int shared_buffer(Program& program, const char* name, std::int64_t bytes) {
    Buffer buffer;
    buffer.name = name;
    buffer.bytes = bytes;
    buffer.lifetime = Lifetime::persistent;
    buffer.consumer = consumer::batch;
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
    const auto spans = model.spans;
    const auto compute = spec.precision.compute;
    const int gradient_span = spec.sharding.reduce == spec::ReducePlan::at_end            ? 1
                              : spec.sharding.reduce == spec::ReducePlan::each_microbatch ? spans.optimizer
                                                                                          : spans.gradients;
    for (const int u : model.units) {
        auto& unit = state.units[static_cast<std::size_t>(u)];
        const auto& shards = model.shards[static_cast<std::size_t>(u)];
        const auto& flat = model.flats[static_cast<std::size_t>(u)];
        const auto all = flat.trained();
        const auto held = spans.parameters == 1 ? all : shards.shard(spans.parameters, model.data_rank);
        const auto summed = gradient_span == 1 ? all : shards.shard(gradient_span, model.data_rank);
        const auto updated = shards.shard(spans.optimizer, model.data_rank);
        const auto add = [&](StateKind kind, const char* line, layout::ElementRange range, spec::DType type) {
            return state_buffer(program, model, u, kind, line, range, type);
        };
        if (model.trains(u)) {
            unit.parameters = add(StateKind::parameters, consumer::parameters, held, compute);
        }
        if (flat.frozen_elements() > 0) {
            const auto& frozen = model.frozen_shards[static_cast<std::size_t>(u)];
            unit.frozen =
                add(StateKind::frozen, consumer::parameters,
                    spans.parameters == 1 ? flat.frozen() : frozen.shard(spans.parameters, model.data_rank),
                    compute);
        }
        if (!model.trains(u)) {
            continue;
        }
        unit.gradients = add(StateKind::gradients, consumer::gradients, summed, spec.precision.gradient);
        if (compute != spec::DType::f32) {
            unit.master = add(StateKind::master, consumer::optimizer, updated, spec::DType::f32);
        }
        unit.first_moment = add(StateKind::first_moment, consumer::optimizer, updated, spec::DType::f32);
        unit.second_moment = add(StateKind::second_moment, consumer::optimizer, updated, spec::DType::f32);
    }
    state.step_inputs = shared_buffer(program, "step_inputs", step_inputs_bytes);
    state.update_inputs = shared_buffer(program, "update_inputs", step_inputs_bytes);
    state.exact_sums = shared_buffer(program, "exact_sums", exact_sums_bytes);
    for (const int u : model.units) {
        auto& unit = state.units[static_cast<std::size_t>(u)];
        if (spans.parameters == 1) {
            unit.full_parameters = unit.parameters;
            unit.full_frozen = unit.frozen;
        } else {
            unit.full_parameters = placeholder(program, model, u, StateKind::parameters, compute);
            unit.full_frozen = unit.full_parameters;
        }
        if (!model.trains(u)) {
            continue;
        }
        unit.full_gradients = adds_in_place(spec)
                                  ? unit.gradients
                                  : placeholder(program, model, u, StateKind::gradients, spec::DType::f32);
    }
    return state;
}

}  // namespace ziggurat::schedule
