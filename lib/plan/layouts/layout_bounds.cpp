#include "plan/layouts/layout_bounds.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "layout/counts.hpp"
#include "plan/simulator/stage_time.hpp"
#include "schedule/model_layout.hpp"
#include "schedule/volumes/saved_activations.hpp"

namespace ziggurat::plan {
namespace {

/// Returns a run of one or two layers on the tensor ranks of one stage, with all state on the device.
spec::RunSpec small_run(const spec::RunSpec& spec, LayoutChoice choice, std::int64_t layers) {
    choice.stages = choice.chunks = choice.data = 1;
    choice.zero = 0;
    auto made = with_layout(spec, choice);
    made.parallel.ranks = choice.tensor * spec.parallel.context;
    made.model.layers = layers;
    made.train.global_batch = 2 * choice.micro_batch;
    made.train.micro_batches = 2;
    made.tiers.parameters = made.tiers.gradients = made.tiers.optimizer = made.tiers.activations = {};
    made.tiers.tiles.clear();
    made.sharding.reduce = spec::ReducePlan::at_end;
    return made;
}

std::int64_t share_of_device(std::int64_t bytes, const spec::Home& home) {
    return static_cast<std::int64_t>(static_cast<double>(bytes) * home.device);
}

}  // namespace

LayoutBounds::LayerWork LayoutBounds::measured(const LayoutChoice& choice) const {
    const auto one = small_run(spec_, choice, 1);
    const auto two = small_run(spec_, choice, 2);
    const auto of_one = stage_time(one, 0, rates_).slots;
    const auto of_two = stage_time(two, 0, rates_).slots;
    LayerWork work;
    work.forward = of_two.forward[0] - of_one.forward[0];
    work.backward = of_two.backward[0] - of_one.backward[0];
    work.others_forward = std::max(0.0, of_one.forward[0] - work.forward);
    work.others_backward = std::max(0.0, of_one.backward[0] - work.backward);
    const schedule::ModelLayout model{one, 0};
    const auto kept = schedule::kept_by_formula(one, model, schedule::UnitId{1});
    work.kept_bytes = schedule::kept_bytes(kept, one);
    return work;
}

const LayoutBounds::LayerWork& LayoutBounds::work_of(const LayoutChoice& choice) {
    const Key key{choice.tensor, choice.micro_batch, choice.recompute};
    const auto known = known_.find(key);
    return known != known_.end() ? known->second : known_.emplace(key, measured(choice)).first->second;
}

LayoutBound LayoutBounds::of(const LayoutChoice& choice) {
    const auto& work = work_of(choice);
    const auto run = with_layout(spec_, choice);
    const auto micro_batches = static_cast<double>(run.train.micro_batches);
    const auto stages = static_cast<double>(choice.stages);
    const auto layers = static_cast<double>(spec_.model.layers);
    // The stages together do all work; the slowest one does at least an even share, and the work of whole
    // layers.
    const double of_layer = work.forward + work.backward;
    const double of_others = work.others_forward + work.others_backward;
    const double even = (layers * of_layer + of_others) / stages;
    const double slowest = std::max(even, std::ceil(layers / stages) * of_layer);
    // The first micro-batch passes all other stages before and after the last stage works; chunks shorten it.
    const double bubble = std::max(0.0, layers - std::ceil(layers / stages)) * of_layer / choice.chunks;
    LayoutBound bound;
    bound.step_seconds = micro_batches * slowest + bubble;

    const auto state = layout::count_state_bytes(run);
    const auto in_flight = std::min<std::int64_t>(choice.stages, run.train.micro_batches);
    const auto of_stage = spec_.model.layers / choice.stages;
    const auto& tiers = spec_.tiers;
    bound.device_bytes = share_of_device(state.parameters, tiers.parameters) +
                         share_of_device(state.gradients, tiers.gradients) +
                         share_of_device(state.optimizer, tiers.optimizer) +
                         share_of_device(in_flight * of_stage * work.kept_bytes, tiers.activations);
    return bound;
}

}  // namespace ziggurat::plan
