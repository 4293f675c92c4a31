#include "plan/layouts/layout_bounds.hpp"

#include <algorithm>
#include <cmath>

#include "layout/counts.hpp"
#include "layout/mesh.hpp"
#include "plan/cost/collective_cost.hpp"
#include "plan/simulator/stage_time.hpp"

namespace ziggurat::plan {
namespace {

/// Returns a run of one or two layers on the tensor ranks of one stage, with all state on the device.
spec::RunSpec small_run(const spec::RunSpec& spec, LayoutChoice choice, std::int64_t layers) {
    choice.stages = choice.chunks = choice.data = 1;
    choice.zero = 0;
    auto made = with_layout(spec, choice);
    made.parallel.ranks = choice.tensor * spec.parallel.context;
    made.model.layers = layers;
    made.train.micro_batches = 3;  // the middle one neither begins nor ends a step
    made.train.global_batch = made.train.micro_batches * choice.micro_batch;
    made.tiers.parameters = made.tiers.gradients = made.tiers.optimizer = made.tiers.activations = {};
    made.tiers.tiles.clear();
    made.sharding.reduce = spec::ReducePlan::at_end;
    return made;
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
    return work;
}

const LayoutBounds::LayerWork& LayoutBounds::work_of(const LayoutChoice& choice) {
    const Key key{choice.tensor, choice.micro_batch, choice.recompute};
    const auto known = known_.find(key);
    return known != known_.end() ? known->second : known_.emplace(key, measured(choice)).first->second;
}

/// Returns the seconds of the slots of the slowest stage, and of those before and after them.
double LayoutBounds::slot_seconds(const LayoutChoice& choice,
                                  const LayerWork& work,
                                  double micro_batches) const {
    const auto stages = static_cast<double>(choice.stages);
    const auto layers = static_cast<double>(spec_.model.layers);
    const double of_layer = work.forward + work.backward;
    const double of_others = work.others_forward + work.others_backward;
    // The slowest stage does at least an even share of all work, and the work of whole layers.
    const double max_layers_of_stage = std::ceil(layers / stages);
    const double slowest = std::max((layers * of_layer + of_others) / stages, max_layers_of_stage * of_layer);
    // A micro-batch passes all other stages before and after the slowest one works; chunks shorten it.
    const double bubble = std::max(0.0, layers - max_layers_of_stage) * of_layer / choice.chunks;
    return micro_batches * slowest + bubble;
}

/// Returns the seconds of the collectives over the data axis, one after the other.
///
/// A rank has an even share of the parameters.
double LayoutBounds::collective_seconds_of_step(const spec::RunSpec& run) const {
    const auto& sharding = run.sharding;
    if (run.parallel.data == 1) {
        return 0;
    }
    const layout::Mesh mesh{run.parallel};
    const auto shape = group_shape({"data", mesh.group(spec::Axis::data, 0), 0}, rates_.ranks_per_node);
    const auto parameters =
        layout::count_trained(run) / (std::int64_t{run.parallel.tensor} * run.parallel.stages);
    const auto seconds = [&](schedule::OpKind kind, std::int64_t element_bytes) {
        return collective_seconds(kind, parameters * element_bytes, shape, rates_);
    };
    constexpr std::int64_t gradient_bytes = 4;
    if (sharding.optimizer == 1) {
        return seconds(schedule::OpKind::all_reduce, gradient_bytes);
    }
    const double reductions = sharding.reduce == spec::ReducePlan::each_microbatch
                                  ? static_cast<double>(run.train.micro_batches)
                                  : 1;
    return reductions * seconds(schedule::OpKind::reduce_scatter, gradient_bytes) +
           seconds(schedule::OpKind::all_gather, spec::element_bytes(run.precision.compute));
}

double LayoutBounds::step_seconds(const LayoutChoice& choice) {
    const auto run = with_layout(spec_, choice, space_);
    return std::max(slot_seconds(choice, work_of(choice), static_cast<double>(run.train.micro_batches)),
                    collective_seconds_of_step(run));
}

std::int64_t LayoutBounds::device_bytes(const LayoutChoice& choice) {
    return memory_.device_bytes(with_layout(spec_, choice, space_));
}

}  // namespace ziggurat::plan
