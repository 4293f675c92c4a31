#include "schedule/volumes/split_volumes.hpp"

#include <algorithm>
#include <vector>

#include "schedule/expand/pipeline_order.hpp"
#include "schedule/volumes/recompute_inputs.hpp"
#include "schedule/volumes/saved_activations.hpp"
#include "spec/weight_versions.hpp"

namespace ziggurat::schedule {
namespace {

using layout::UnitKind;

/// True if the chunk forms gradients of a product's weight, bias or adapters.
bool has_weight_products(const ModelLayout& model, const std::vector<UnitId>& units) {
    return std::ranges::any_of(units, [&](UnitId unit) {
        const auto& described = model.table.units[unit];
        return std::ranges::any_of(described.phases, [&](const layout::Phase& phase) {
            return phase.kind == layout::PhaseKind::linear &&
                   std::ranges::any_of(phase.parameters, [&](const layout::ParameterUse& use) {
                       return use.unit < 0 && described.parameters[use.parameter].is_trained;
                   });
        });
    });
}

/// Returns the slots of the rank's stage that have ops.
///
/// Chunks below the first trained tensor run no backward, and frozen products form no gradients of weights.
std::vector<Slot> slots_with_ops(const spec::RunSpec& spec, const ModelLayout& model) {
    auto slots = pipeline_order({spec.parallel.pipeline_schedule, spec.parallel.stages,
                                 spec.parallel.chunks_per_stage, static_cast<int>(spec.train.micro_batches)},
                                model.stage);
    std::erase_if(slots, [&](const Slot& slot) {
        const auto& units = model.chunk_units[slot.chunk];
        return slot.pass == Slot::Pass::backward_weight
                   ? !has_weight_products(model, units)
                   : slot.pass != Slot::Pass::forward && !model.runs_backward(units.back());
    });
    return slots;
}

/// Replicated saved bytes of a layer.
struct Replicated {
    std::int64_t bytes = 0;
    /// The part that the first unit pass of backward and the last one of forward read.
    std::int64_t bytes_at_turn = 0;
    /// The part of these that only gradients of weights read, if they are deferred.
    std::int64_t bytes_for_weights = 0;
};

/// True if the last phase of a tiled layer and its first recomputed phase both read the input.
///
/// An untiled layer is one unit pass; the phases of a tiled layer are separate passes.
bool ends_and_begins_with_input(const spec::RunSpec& spec, const ModelLayout& model, UnitId unit) {
    const auto& described = model.table.units[unit];
    const auto reads_input = [&](const layout::Phase& phase) {
        return std::ranges::any_of(phase.reads,
                                   [&](const auto& use) { return use.value == described.input; });
    };
    const auto again = computed_again(spec, model);
    const auto redone = again.find(unit);
    if (redone == again.end() || !reads_input(described.phases.back())) {
        return false;
    }
    const auto first = std::ranges::find(redone->second.phases, true);
    return first != redone->second.phases.end() &&
           reads_input(described.phases[first - redone->second.phases.begin()]);
}

/// True if gradients of inputs need an op of the unit other than gradients of weights.
bool has_ops_for_inputs(const ModelLayout& model, UnitId unit) {
    const auto& phases = model.table.units[unit].phases;
    for (std::size_t p = 0; p < phases.size(); ++p) {
        const auto& phase = phases[p];
        const auto number = static_cast<int>(p);
        const bool has_op =
            phase.kind == layout::PhaseKind::linear
                ? model.passes_gradient_on(unit, number)
                : phase.gradient != layout::GradientRule::pass_through || phase.changes_branch();
        if (model.runs_backward(unit, number) && has_op) {
            return true;
        }
    }
    return false;
}

/// Returns replicated saved bytes that only gradients of weights read, without recomputation.
std::int64_t bytes_for_weights_alone(const ModelLayout& model, UnitId unit) {
    const auto& described = model.table.units[unit];
    const auto is_read = read_by_backward(model, unit);
    std::int64_t bytes = 0;
    for (std::size_t v = 0; v < described.values.size(); ++v) {
        const auto& value = described.values[v];
        const auto elements = model.tokens * value.width;
        const bool is_for_weights = std::ranges::none_of(described.phases, [&](const layout::Phase& phase) {
            return phase.kind != layout::PhaseKind::linear &&
                   std::ranges::count(phase.kept, static_cast<int>(v), &layout::ValueUse::value) > 0;
        });
        if (is_read[v] && is_for_weights && value.placement == layout::Placement::replicated &&
            has_part_on_each(elements, model.tensor())) {
            bytes += elements * (value.type == layout::ElementType::f32 ? 4 : model.element_bytes);
        }
    }
    return bytes;
}

/// Micro-batches of a step and a chunk whose backward directly follows their forward.
struct Turns {
    std::int64_t all = 0;
    /// Number of them whose gradients of weights wait until other units have run.
    std::int64_t with_waiting_weights = 0;
};

/// True if gradients of inputs pass another unit of the chunk than its last layer.
bool pass_another_unit(const ModelLayout& model, const std::vector<UnitId>& units) {
    UnitId last{-1};
    for (const UnitId unit : units) {
        last = model.table.units[unit].kind == UnitKind::layer ? unit : last;
    }
    return std::ranges::any_of(units, [&](UnitId unit) {
        return unit < last && model.runs_backward(unit) && has_ops_for_inputs(model, unit);
    });
}

Turns turns_of_chunk(const spec::RunSpec& spec, const ModelLayout& model, int chunk) {
    if (spec::has_no_flush(spec.parallel)) {
        return {spec::weight_versions(spec, model.stage).ahead == 0 ? spec.train.micro_batches : 0, 0};
    }
    const auto slots = slots_with_ops(spec, model);
    const bool all_wait = pass_another_unit(model, model.chunk_units[chunk]);
    Turns turns;
    for (std::size_t i = 1; i < slots.size(); ++i) {
        const auto& before = slots[i - 1];
        const auto& after = slots[i];
        const auto is_of_same = [&](const Slot& slot) {
            return slot.chunk == chunk && slot.microbatch == before.microbatch;
        };
        if (before.pass != Slot::Pass::forward || after.pass == Slot::Pass::forward || !is_of_same(before) ||
            !is_of_same(after)) {
            continue;
        }
        ++turns.all;
        const bool weights_follow = i + 1 < slots.size() && is_of_same(slots[i + 1]);
        turns.with_waiting_weights += all_wait || !weights_follow ? 1 : 0;
    }
    return turns;
}

/// Returns the replicated bytes of each layer of a chunk, in order of the model.
std::vector<Replicated> alike_of_layers(const spec::RunSpec& spec,
                                        const ModelLayout& model,
                                        const std::vector<UnitId>& units) {
    const bool is_full = spec.recompute.kind == spec::RecomputeKind::full;
    std::vector<Replicated> layers;
    int in_backward = 0;
    for (const UnitId unit : units) {
        if (model.table.units[unit].kind != UnitKind::layer) {
            continue;
        }
        auto& identical = layers.emplace_back();
        const bool begins_run = !is_full || in_backward % spec.recompute.every == 0;
        if (begins_run) {
            const auto kept = kept_by_formula(spec, model, unit);
            identical.bytes = kept.identical + kept.input - kept.short_of_parts;
            const bool is_cut = model.tiling(unit).is_cut();
            identical.bytes_at_turn = !is_cut                                         ? identical.bytes
                                      : ends_and_begins_with_input(spec, model, unit) ? kept.input
                                                                                      : 0;
            const bool defers = defers_weight_products(spec.parallel, model.stage) &&
                                spec.recompute.kind == spec::RecomputeKind::none;
            identical.bytes_for_weights = defers && !is_cut ? bytes_for_weights_alone(model, unit) : 0;
        }
        in_backward += model.runs_backward(unit) ? 1 : 0;
    }
    return layers;
}

/// Returns the bytes that the norm of a tiled head saves: other passes lie between its forward and
/// backward.
std::int64_t alike_of_head(const ModelLayout& model, UnitId unit) {
    const auto& described = model.table.units[unit];
    const auto product = std::ranges::find(described.phases, layout::PhaseKind::logits, &layout::Phase::kind);
    const auto before = static_cast<int>(product - described.phases.begin());
    std::int64_t bytes = 0;
    for (int p = 0; p < before && model.tiling(unit).cuts(before); ++p) {
        for (const auto& use : described.phases[p].kept) {
            const auto& value = described.values[use.value];
            const auto elements = model.tokens * value.width;
            const bool is_cut = model.runs_backward(unit, p) && has_part_on_each(elements, model.tensor());
            bytes +=
                is_cut ? elements * (value.type == layout::ElementType::f32 ? 4 : model.element_bytes) : 0;
        }
    }
    return bytes;
}

}  // namespace

std::int64_t split_bytes_by_formula(const spec::RunSpec& spec, const ModelLayout& model) {
    const std::int64_t tensor = model.tensor();
    if (!spec.recompute.split || tensor == 1) {
        return 0;
    }
    std::int64_t cut = 0;
    for (std::size_t chunk = 0; chunk < model.chunk_units.size(); ++chunk) {
        const auto& units = model.chunk_units[chunk];
        const auto layers = alike_of_layers(spec, model, units);
        for (const auto& layer : layers) {
            cut += spec.train.micro_batches * layer.bytes;
        }
        const bool has_head = model.table.units[units.back()].kind == UnitKind::head;
        if (has_head) {
            cut += spec.train.micro_batches * alike_of_head(model, units.back());
        } else if (!layers.empty()) {
            const auto turns = turns_of_chunk(spec, model, static_cast<int>(chunk));
            cut -= turns.all * layers.back().bytes_at_turn -
                   turns.with_waiting_weights * layers.back().bytes_for_weights;
        }
    }
    return cut - cut / tensor;
}

}  // namespace ziggurat::schedule
