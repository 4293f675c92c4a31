#include "plan/layouts/layout_bounds.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "layout/mesh.hpp"
#include "layout/stage_layers.hpp"
#include "plan/layouts/data_axis_seconds.hpp"
#include "plan/layouts/small_run.hpp"
#include "plan/planned_time.hpp"
#include "plan/simulator/stage_time.hpp"
#include "spec/virtual_stages.hpp"
#include "spec/weight_versions.hpp"

namespace ziggurat::plan {
namespace {

/// Slots of plans are up to a percent shorter than those of small runs.
constexpr double certain_share = 0.98;

/// Returns the gathers of a parameter for one micro-batch: of layers two, if all of them run backward.
double leases_of(const layout::ParameterCount& parameters, std::int64_t trained) {
    return trained != parameters.total
               ? 1
               : 1 + static_cast<double>(parameters.layers) / static_cast<double>(parameters.total);
}

}  // namespace

LayoutBounds::LayoutBounds(const spec::RunSpec& spec, const Rates& rates, const spec::LayoutSpace& space)
    : spec_{spec},
      rates_{rates},
      space_{space},
      parameters_{layout::count_parameters(spec.model)},
      trained_{layout::count_trained(spec)},
      leases_{leases_of(parameters_, trained_)} {}

LayoutBounds::LayerWork LayoutBounds::measured(const spec::RunSpec& run) {
    const auto one = stage_time(small_run(run, 1, 1, 1), 0, rates_).slots;
    const auto two = stage_time(small_run(run, 1, 2, 1), 0, rates_).slots;
    LayerWork work;
    work.layer = {two.forward[0] - one.forward[0], two.backward[0] - one.backward[0]};
    work.last_layer = work.layer;
    if (run.recompute.kind != spec::RecomputeKind::none) {
        auto without = run;
        without.recompute.kind = spec::RecomputeKind::none;
        work.last_layer = work_of(without).layer;
    }
    work.others = {one.forward[0] - work.layer.forward, one.backward[0] - work.layer.backward};
    return work;
}

LayoutBounds::EndsWork LayoutBounds::measured_ends(const LayoutChoice& choice, const LayerWork& work) const {
    const auto run = small_run(with_layout(spec_, choice, space_), 2, 1, 1);
    const auto last_rank = layout::Mesh{run.parallel}.neighbour(spec::Axis::pipeline, 0, 1);
    const auto first = stage_time(run, 0, rates_).slots;
    const auto last = stage_time(run, last_rank, rates_).slots;
    EndsWork ends;
    ends.first = {first.forward[0] - work.layer.forward, first.backward[0] - work.layer.backward};
    ends.last = {last.forward[0] - work.layer.forward, last.backward[0] - work.layer.backward};
    ends.to_next = first.to_next;
    ends.to_previous = last.to_previous;
    return ends;
}

const LayoutBounds::LayerWork& LayoutBounds::work_of(const LayoutChoice& choice) {
    return work_of(with_layout(spec_, choice, space_));
}

const LayoutBounds::LayerWork& LayoutBounds::work_of(const spec::RunSpec& run) {
    const Key key{run.parallel.tensor, run.parallel.context, run.train.micro_batch, run.recompute.kind};
    const auto known = known_.find(key);
    return known != known_.end() ? known->second : known_.emplace(key, measured(run)).first->second;
}

const LayoutBounds::EndsWork& LayoutBounds::ends_of(const LayoutChoice& choice) {
    const Key key{choice.tensor, choice.context, choice.micro_batch, choice.recompute};
    const auto known = known_ends_.find(key);
    return known != known_ends_.end()
               ? known->second
               : known_ends_.emplace(key, measured_ends(choice, work_of(choice))).first->second;
}

/// Returns the seconds of the slots of the slowest stage, and of those before and after them.
double LayoutBounds::slot_seconds(const LayoutChoice& choice,
                                  const LayerWork& work,
                                  double micro_batches) const {
    const auto stages = static_cast<double>(choice.stages);
    const auto layers = static_cast<double>(spec_.model.layers);
    // With one micro-batch, backward of each chunk follows its forward, and no gradients are added.
    const bool is_alone = micro_batches == 1;
    const double chunks = is_alone ? choice.chunks : 0;
    const double saved = work.layer.sum() - work.last_layer.sum();
    // The slowest stage does at least an even share of all work, and the work of whole layers.
    const double share = (layers * work.layer.sum() + work.others.sum()) / stages - chunks * saved;
    const double max_layers_of_stage = std::ceil(layers / stages);
    const double slowest =
        choice.stages == 1 ? share : std::max(share, max_layers_of_stage * work.layer.sum() - chunks * saved);
    // A micro-batch passes all other stages before and after the slowest one works; chunks shorten it. With
    // zero_bubble, gradients of weights, at most half of backward, can fill the time after it two times.
    const bool fills = spec::splits_backward(spec_.parallel.pipeline_schedule);
    const double others = fills ? work.layer.forward : is_alone ? work.last_layer.sum() : work.layer.sum();
    const double bubble = std::max(0.0, layers - max_layers_of_stage) * others / choice.chunks;
    return certain_share * (micro_batches * slowest + (spec::has_no_flush(spec_.parallel) ? 0 : bubble));
}

double LayoutBounds::step_seconds(const LayoutChoice& choice) {
    const auto run = with_layout(spec_, choice, space_);
    const auto parameters = static_cast<double>(trained_ / run.parallel.tensor_ranks() / run.parallel.stages);
    return std::max(slot_seconds(choice, work_of(choice), static_cast<double>(run.train.micro_batches)),
                    data_axis_seconds(run, parameters, leases_, rates_).step);
}

/// Returns the seconds of a step's collectives that are not hidden by passes.
///
/// The last sums run with the backward of the last micro-batch, the publication with the forward of the
/// first.
double LayoutBounds::exposed_seconds(const spec::RunSpec& run,
                                     double layers,
                                     int stage,
                                     const StageSlots& slots) const {
    if (trained_ != parameters_.total || run.train.is_by_layer()) {
        return 0;  // by layer, passes of all micro-batches hide the sums of the layers after them
    }
    double parameters = layers * static_cast<double>(parameters_.layer);
    parameters += stage == 0 ? static_cast<double>(parameters_.embedding) : 0;
    parameters += stage == spec::last_stage(run.parallel) ? static_cast<double>(parameters_.head) : 0;
    double passes = 0;
    for (std::size_t chunk = 0; chunk < slots.forward.size(); ++chunk) {
        passes += slots.forward[chunk] + slots.backward[chunk];
    }
    return std::max(
        0.0, data_axis_seconds(run, parameters / run.parallel.tensor_ranks(), leases_, rates_).end - passes);
}

/// Returns the slots of all stages without waits for state.
std::vector<StageSlots> LayoutBounds::slots_of(const LayoutChoice& choice, const spec::RunSpec& run) {
    const auto& work = work_of(choice);
    const auto ends = choice.stages == 1 ? EndsWork{.first = {}, .last = work.others} : ends_of(choice);
    const auto layers = layout::stage_layers(run);
    const auto num_stages = static_cast<std::size_t>(run.parallel.stages);
    std::vector<StageSlots> stages(num_stages);
    const double layer_parameters =
        static_cast<double>(trained_ == parameters_.total ? parameters_.layer : 0) /
        run.parallel.tensor_ranks();
    const double layer_backward = work.layer.backward + add_seconds(run, layer_parameters, rates_);
    for (std::size_t at = 0; at < layers.size(); ++at) {
        auto& slots = stages[spec::stage_of(static_cast<int>(at), run.parallel)];
        const auto count = static_cast<double>(layers[at]);
        auto forward = count * work.layer.forward;
        auto backward = count * layer_backward;
        if (run.train.micro_batches == 1) {
            backward += work.last_layer.backward - work.layer.backward;
        }
        if (at == 0) {
            forward += ends.first.forward;
            backward += ends.first.backward;
        }
        if (at + 1 == layers.size()) {
            forward += ends.last.forward;
            backward += ends.last.backward;
        }
        slots.forward.push_back(std::max(0.0, forward));
        slots.backward.push_back(std::max(0.0, backward));
        slots.to_next = ends.to_next;
        slots.to_previous = ends.to_previous;
    }
    for (std::size_t stage = 0; stage < num_stages; ++stage) {
        double count = 0;
        for (int chunk = 0; chunk < run.parallel.chunks_per_stage; ++chunk) {
            count += static_cast<double>(
                layers[spec::virtual_stage(static_cast<int>(stage), chunk, run.parallel)]);
        }
        auto& slots = stages[stage];
        slots.others = exposed_seconds(run, count, static_cast<int>(stage), slots);
        if (schedule::defers_weight_products(run.parallel, static_cast<int>(stage))) {
            for (auto& seconds : slots.backward) {
                seconds /= 2;  // at most half of backward can be deferred
            }
            slots.backward_weight = slots.backward;
        }
    }
    return stages;
}

double LayoutBounds::pipeline_seconds(const LayoutChoice& choice) {
    const auto run = with_layout(spec_, choice, space_);
    return std::max(step_seconds(choice),
                    certain_share * pipeline_of(run, slots_of(choice, run), rates_).step_seconds);
}

std::int64_t LayoutBounds::device_bytes(const LayoutChoice& choice) {
    return memory_.device_bytes(with_layout(spec_, choice, space_));
}

}  // namespace ziggurat::plan
