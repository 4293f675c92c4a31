#include "plan/whole_plan.hpp"

#include "plan/reduced_run.hpp"
#include "plan/representative_layers.hpp"

namespace ziggurat::plan {
namespace {

/// Maximum of passes of layers, over micro-batches that differ, for which a run that seems not to fit
/// is also planned as a whole: about ten seconds.
constexpr std::int64_t max_passes_of_whole = 8192;

}  // namespace

bool is_large_pipeline(const spec::RunSpec& spec) {
    return spec.parallel.stages > 1 && !shortened(spec, Size::of_search).layers.is_whole();
}

bool is_worth_planning_whole(const spec::RunSpec& spec) {
    const auto built = shortened(spec, Size::of_plan);
    if (built.larger_tiles != spec.tiers.tiles || chunk_elements(built.spec) != chunk_elements(spec)) {
        return false;
    }
    return spec.model.layers * enough_micro_batches(spec) * weight_of_layer(spec) <= max_passes_of_whole;
}

void add_to_all(RunPlan& plan, const TierBytes& more, std::int64_t ranks_of_node) {
    auto& needed = plan.footprint.needed;
    for (const auto tier : all_tiers) {
        const auto t = tier_index(tier);
        for (auto& stage : plan.stages) {
            stage.rank_bytes[t] += more[t];
        }
        needed[t] += tier == spec::Tier::device ? more[t] : ranks_of_node * more[t];
    }
    plan.footprint.memory_needed += ranks_of_node * (more[0] + more[1]);
}

}  // namespace ziggurat::plan
