#include "plan/search/choose_homes.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "layout/stage_layers.hpp"
#include "plan/search/choose_tiles.hpp"
#include "plan/search/home_search.hpp"
#include "plan/search/ops_budget.hpp"
#include "plan/stage_kinds.hpp"
#include "spec/depths.hpp"
#include "spec/stage_state.hpp"

namespace ziggurat::plan {
namespace {

/// Number of stages up to which each stage is searched, for programs of any size.
constexpr int max_stages_of_search = 4;

/// Chooses the open homes and recomputation of `stage`, or of a run without pipeline.
///
/// In the run that is passed, the states of all stages are equal.
spec::StageState choose_state(const spec::RunSpec& identical,
                              const spec::MachineSpec& machine,
                              const PlanningBudget& budget,
                              int stage) {
    using enum spec::RecomputeKind;
    auto tried = identical;
    auto& recompute = tried.recompute;
    const bool is_auto = recompute.is_auto;
    recompute.is_auto = false;
    for (const auto kind : is_auto ? std::vector{none, selective, full} : std::vector{recompute.kind}) {
        if (is_auto && kind != full && budget.is_spent()) {
            continue;  // not all kinds are tried for programs this large
        }
        if (is_auto) {
            recompute = identical.recompute;
            recompute.kind = kind;
            recompute.every = kind == full ? recompute.every : 1;
            recompute.split = recompute.split && kind == full;
            recompute.is_auto = false;
        }
        HomeSearch search{tried, machine, budget, stage};
        if (is_auto && kind != full && !search.device_can_keep_activations()) {
            continue;
        }
        const auto chosen = search.run();
        const bool activations_leave =
            identical.tiers.open.activations && chosen.tiers.activations.device < 1;
        if (!is_auto || kind == full || (search.found().fits() && !activations_leave)) {
            auto state = spec::general_state(chosen);
            state.open = {};
            return state;
        }
    }
    return spec::general_state(identical);
}

/// Chooses the open state of each stage. A stage that represents others, which have the same layout and
/// need no more memory, chooses for them.
///
/// \param known  choices made before gradients had to be summed after each micro-batch; reused for stages
///               whose gradients leave the device, because these already assumed that
std::vector<spec::StageState> choose_states(const spec::RunSpec& spec,
                                            const spec::MachineSpec& machine,
                                            const Watch& watch,
                                            const std::vector<spec::StageState>& known = {}) {
    const auto open = spec::states_of_stages(spec);
    const auto standing = standing_stages(spec, spec.parallel.stages <= max_stages_of_search);
    std::vector<spec::StageState> chosen(open.size());
    for (const int stage : standing.built) {
        if (!known.empty() && known[stage].gradients.device < 1) {
            chosen[stage] = known[stage];
            continue;
        }
        const PlanningBudget budget{max_ops_of_homes / standing.built.size(), watch};
        const std::size_t s = stage;
        auto identical = spec::with_state(spec, open[s]);
        identical.tiers.open.reduce = spec.tiers.open.reduce;
        chosen[s] = choose_state(identical, machine, budget, stage);
    }
    for (std::size_t s = 0; s < chosen.size(); ++s) {
        chosen[s] = chosen[standing.like[s]];
    }
    return chosen;
}

bool do_gradients_leave(const std::vector<spec::StageState>& states) {
    return std::ranges::any_of(states,
                               [](const spec::StageState& state) { return state.gradients.device < 1; });
}

/// Sets open general values to those of the first stage.
void take_general(spec::RunSpec& spec, const spec::StageState& first) {
    auto& tiers = spec.tiers;
    const auto& open = tiers.open;
    tiers.parameters = open.parameters ? first.parameters : tiers.parameters;
    tiers.gradients = open.gradients ? first.gradients : tiers.gradients;
    tiers.optimizer = open.optimizer ? first.optimizer : tiers.optimizer;
    tiers.activations = open.activations ? first.activations : tiers.activations;
    const bool splits = spec.recompute.split;
    spec.recompute = spec.recompute.is_auto ? first.recompute : spec.recompute;
    spec.recompute.split = splits;
    tiers.open = {};
}

/// Returns the result of choose_homes() for a run with static movement.
spec::RunSpec choose_static_homes(const spec::RunSpec& asked,
                                  const spec::MachineSpec& machine,
                                  const Watch& watch) {
    auto spec = asked;
    const bool is_pipeline = spec.parallel.stages > 1;
    if (is_pipeline) {
        // Fixes the distribution of layers, because stages may choose different recomputation later.
        spec.parallel.stage_layers = layout::stage_layers(spec);
    }
    if (spec.tiers.open.tiles) {
        auto tried = spec;
        if (asked.recompute.is_auto) {
            tried.recompute.kind = spec::RecomputeKind::full;
        }
        auto tiled = choose_tiles(tried, machine, watch);
        if (!is_pipeline && asked.stages.empty() && !asked.recompute.is_auto) {
            return tiled;
        }
        spec.tiers.tiles = std::move(tiled.tiers.tiles);
    }
    if (!spec::has_auto_home(spec) && !spec::has_auto_recomputation(spec)) {
        spec.tiers.open = {};
        return spec;
    }
    auto states = choose_states(spec, machine, watch);
    const bool sums_otherwise = spec.sharding.reduce != spec::ReducePlan::each_microbatch;
    if (spec.tiers.open.reduce && sums_otherwise && do_gradients_leave(states)) {
        spec.sharding.reduce =
            spec::ReducePlan::each_microbatch;  // for all stages, so the others choose again
        states = is_pipeline ? choose_states(spec, machine, watch, states) : states;
    }
    take_general(spec, states.front());
    spec.stages = is_pipeline || !asked.stages.empty() ? std::move(states) : std::vector<spec::StageState>{};
    return spec;
}

}  // namespace

spec::RunSpec choose_homes(const spec::RunSpec& asked, const spec::MachineSpec& machine, const Watch& watch) {
    auto with_static = asked;
    with_static.tiers.movement = spec::Movement::fixed;
    auto made = choose_static_homes(with_static, machine, watch);
    made.tiers.movement = asked.tiers.movement;
    return made;
}

}  // namespace ziggurat::plan
