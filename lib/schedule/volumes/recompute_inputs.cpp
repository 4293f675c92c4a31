#include "schedule/volumes/recompute_inputs.hpp"

#include <algorithm>

#include "layout/families/activations.hpp"

namespace ziggurat::schedule {
namespace {

using layout::UnitKind;

const layout::Unit& described(const ModelLayout& model, UnitId unit) {
    return model.table.units[unit];
}

/// Returns the layers of each range of recomputation, in order of the model.
std::vector<std::vector<int>> runs_of_layers(const spec::RunSpec& spec, const ModelLayout& model) {
    std::vector<std::vector<int>> runs;
    for (const auto& units : model.chunk_units) {
        int layers = 0;
        for (const UnitId unit : units) {
            if (described(model, unit).kind == UnitKind::layer && model.runs_backward(unit)) {
                if (layers++ % spec.recompute.every == 0) {
                    runs.emplace_back();
                }
                runs.back().push_back(unit);
            }
        }
    }
    return runs;
}

RecomputeInputs needed_of(const ModelLayout& model, UnitId unit, bool needs_output, bool redoes_all) {
    const auto& of = described(model, unit);
    RecomputeInputs needed{read_by_backward(model, unit), std::vector<bool>(of.phases.size())};
    const auto is_needed = [&](const layout::ValueUse& use) { return needed.values[use.value]; };
    if (needs_output) {
        needed.values[of.output] = true;
    }
    for (std::size_t p = of.phases.size(); p-- > 0;) {
        const auto& phase = of.phases[p];
        const bool shares = phase.writes_in_place && is_needed(phase.reads.front());
        const bool may_be_redone = redoes_all || phase.redone_by_selective;
        if (may_be_redone && (shares || std::ranges::any_of(phase.writes, is_needed))) {
            needed.phases[p] = true;
            for (const auto& use : phase.reads) {
                needed.values[use.value] = true;
            }
        }
    }
    return needed;
}

}  // namespace

std::vector<bool> read_by_backward(const ModelLayout& model, UnitId unit) {
    std::vector<bool> runs;
    for (std::size_t p = 0; p < described(model, unit).phases.size(); ++p) {
        runs.push_back(model.runs_backward(unit, static_cast<int>(p)));
    }
    return layout::read_by_backward(model.table, unit, runs);
}

std::map<UnitId, RecomputeInputs> recompute_inputs(const spec::RunSpec& spec, const ModelLayout& model) {
    std::map<UnitId, RecomputeInputs> needed;
    if (spec.recompute.kind != spec::RecomputeKind::full) {
        return needed;
    }
    for (const auto& run : runs_of_layers(spec, model)) {
        bool needs_output = false;
        for (auto unit = run.rbegin(); unit != run.rend(); ++unit) {
            const auto& made = needed[*unit] = needed_of(model, *unit, needs_output, true);
            needs_output = made.values[described(model, *unit).input];
        }
    }
    return needed;
}

std::map<UnitId, RecomputeInputs> computed_again(const spec::RunSpec& spec, const ModelLayout& model) {
    if (spec.recompute.kind != spec::RecomputeKind::selective) {
        return recompute_inputs(spec, model);
    }
    std::map<UnitId, RecomputeInputs> needed;
    for (const auto& units : model.chunk_units) {
        for (const UnitId unit : units) {
            if (described(model, unit).kind == UnitKind::layer && model.runs_backward(unit)) {
                needed[unit] = needed_of(model, unit, false, false);
            }
        }
    }
    return needed;
}

}  // namespace ziggurat::schedule
