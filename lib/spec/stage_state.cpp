#include "spec/stage_state.hpp"

#include <cstddef>
#include <utility>

#include "base/contract.hpp"

namespace ziggurat::spec {

StageState general_state(const RunSpec& run) {
    const auto& tiers = run.tiers;
    return {run.recompute, tiers.parameters, tiers.gradients, tiers.optimizer, tiers.activations, tiers.open};
}

RunSpec with_state(RunSpec run, const StageState& state) {
    auto& tiers = run.tiers;
    run.stages.clear();
    run.recompute = state.recompute;
    tiers.parameters = state.parameters;
    tiers.gradients = state.gradients;
    tiers.optimizer = state.optimizer;
    tiers.activations = state.activations;
    tiers.open = state.open;
    return run;
}

RunSpec of_stage(const RunSpec& run, int stage) {
    if (run.stages.empty()) {
        return run;
    }
    // Otherwise layers would be distributed again, by the recomputation of this stage.
    ZG_EXPECTS(!run.parallel.stage_layers.empty() ||
               run.parallel.stages * run.parallel.chunks_per_stage == 1);
    return with_state(run, run.stages.at(stage));
}

std::vector<StageState> states_of_stages(const RunSpec& run) {
    return run.stages.empty() ? std::vector<StageState>(run.parallel.stages, general_state(run)) : run.stages;
}

}  // namespace ziggurat::spec
