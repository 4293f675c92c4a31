#include "schedule/volumes/volumes.hpp"

#include <algorithm>

namespace ziggurat::schedule {
namespace {

bool is_weight_trained(const layout::Unit& unit, const layout::Phase& phase) {
    return std::any_of(phase.parameters.begin(), phase.parameters.end(), [&](const auto& use) {
        const auto& parameter = unit.parameters[use.parameter];
        return parameter.is_trained && layout::needs_input(parameter.role);
    });
}

/// True if backward of a layer, including its recomputation, reads parameters.
///
/// The exception is a layer in which backward ends with the last product of a branch of the first trained
/// layer. It computes the gradient of the weight from saved values, unless the weight has an adapter, or the
/// whole layer is recomputed for it or for the next layer.
bool backward_reads_parameters(const spec::RunSpec& spec, const ModelLayout& model, UnitId unit) {
    if (!model.runs_backward(unit)) {
        return false;
    }
    const auto& described = model.table.units[unit];
    bool trains_weight = false;
    for (std::size_t p = 0; p < described.phases.size(); ++p) {
        const auto& phase = described.phases[p];
        const int number = static_cast<int>(p);
        if (phase.parameters.empty() || !model.runs_backward(unit, number)) {
            continue;
        }
        if (phase.kind != layout::PhaseKind::linear || model.passes_gradient_on(unit, number) ||
            !phase.adapters.empty()) {
            return true;
        }
        trains_weight = trains_weight || is_weight_trained(described, phase);
    }
    const bool is_followed = std::any_of(
        model.chunk_units.begin(), model.chunk_units.end(), [&](const std::vector<UnitId>& units) {
            const auto next = std::find(units.begin(), units.end(), unit + 1);
            return next != units.end() && *next != units.front() &&
                   model.table.units[*next].kind == layout::UnitKind::layer;
        });
    return spec.recompute.kind == spec::RecomputeKind::full &&
           (trains_weight || (is_followed && spec.recompute.every > 1));
}

}  // namespace

std::int64_t leases_per_microbatch(const spec::RunSpec& spec, const ModelLayout& model, UnitId unit) {
    const auto kind = model.table.units[unit].kind;
    if (kind == layout::UnitKind::layer) {
        return backward_reads_parameters(spec, model, unit) ? 2 : 1;
    }
    if (kind == layout::UnitKind::head) {
        return 1;
    }
    const bool looks_up = model.stage == 0;
    const bool multiplies = spec.model.tie_embeddings && model.stage == model.head_stage;
    return (looks_up ? 1 : 0) + (multiplies ? 1 : 0);
}

std::int64_t leases_per_step(const spec::RunSpec& spec, const ModelLayout& model, UnitId unit) {
    const bool serves_all = spec.train.is_by_layer() && !model.tiling(unit).is_cut();
    return (serves_all ? 1 : spec.train.micro_batches) * leases_per_microbatch(spec, model, unit);
}

std::int64_t bytes_sent(const Op& op, const Program& program) {
    const auto collective = row_of(op.kind).collective;
    if (!collective) {
        return 0;
    }
    std::int64_t bytes = 0;
    if (!collective->is_message) {
        for (const auto& block : op.blocks) {
            bytes += block.bytes;
        }
    } else if (!op.reads.empty()) {
        bytes = op.reads.front().bytes();
    }
    const auto members = op.group < 0 ? std::int64_t{1} : program.groups.at(op.group).size();
    return collective->bytes_sent(bytes, members);
}

Volumes volumes_by_formula(const spec::RunSpec& spec, const ModelLayout& model) {
    const auto& spans = model.spans;
    const auto microbatches = spec.train.micro_batches;
    const std::int64_t secondary = spec.sharding.secondary;
    Volumes sum;
    for (const UnitId unit : model.units) {
        const auto trained = model.trains(unit) ? model.shards[unit].padded_elements() : 0;
        sum.publication += without_own_part(trained / spans.parameters, spans.optimizer / spans.parameters);
        if (model.tiling(unit).is_cut()) {
            continue;
        }
        const auto held = model.held(unit).size();
        const auto passes = leases_per_step(spec, model, unit);
        const bool is_for_step = spec.sharding.leases == spec::LeaseSpan::step;
        const auto leases = is_for_step ? std::min<std::int64_t>(passes, 1) : passes;
        const bool keeps_copy = secondary > 0 && spans.parameters > 1;
        const auto primary_leases = keeps_copy ? std::min<std::int64_t>(leases, 1) : leases;
        sum.gathers += primary_leases * without_own_part(held, spans.parameters);
        if (keeps_copy) {
            sum.secondary += (leases - primary_leases) * without_own_part(held, secondary);
        }
        switch (spec.sharding.reduce) {
            case spec::ReducePlan::at_end:
                sum.accumulated += without_own_part(trained, spans.data);
                break;
            case spec::ReducePlan::each_microbatch:
                sum.reduction += microbatches * without_own_part(trained, spans.data);
                break;
            case spec::ReducePlan::by_span:
                sum.reduction += microbatches * without_own_part(trained, spans.gradients);
                sum.accumulated += without_own_part(trained / spans.gradients, spans.data / spans.gradients);
                break;
        }
        sum.accumulated += without_own_part(trained / spans.optimizer, spans.data / spans.optimizer);
    }
    sum.reduction += sum.accumulated;
    return sum;
}

Volumes volumes_counted(const Program& program) {
    Volumes sum;
    for (const auto& op : program.ops) {
        const bool is_over_data = op.group >= 0 && program.groups.at(op.group).name.substr(0, 4) == "data";
        if (!is_over_data || op.reads.empty()) {
            continue;
        }
        const auto& moved = program.buffers.at(op.reads.front().buffer);
        const auto elements = bytes_sent(op, program) / spec::element_bytes(moved.type);
        switch (op.purpose) {
            case Purpose::parameters:
                sum.gathers += elements;
                break;
            case Purpose::secondary:
                sum.secondary += elements;
                break;
            case Purpose::gradients:
                sum.reduction += elements;
                break;
            case Purpose::publication:
                sum.publication += elements;
                break;
            case Purpose::none:
            case Purpose::tensor:
            case Purpose::context:
            case Purpose::pipeline:
            case Purpose::control:
            case Purpose::checkpoint:
            case Purpose::state:
            case Purpose::stash:
                break;
        }
    }
    return sum;
}

std::map<Purpose, std::int64_t> bytes_of(const Volumes& volumes, const spec::Precision& precision) {
    const std::int64_t parameters = spec::element_bytes(precision.compute);
    return {{Purpose::parameters, volumes.gathers * parameters},
            {Purpose::secondary, volumes.secondary * parameters},
            {Purpose::gradients,
             (volumes.reduction - volumes.accumulated) * spec::element_bytes(spec::DType::f32) +
                 volumes.accumulated * spec::element_bytes(precision.gradient)},
            {Purpose::publication, volumes.publication * parameters}};
}

std::map<Purpose, std::int64_t> bytes_sent_by_purpose(const Program& program) {
    std::map<Purpose, std::int64_t> sent;
    for (const auto& op : program.ops) {
        if (const auto bytes = bytes_sent(op, program); bytes > 0) {
            sent[op.purpose] += bytes;
        }
    }
    return sent;
}

}  // namespace ziggurat::schedule
