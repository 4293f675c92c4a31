#include "plan/layouts/small_run.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "layout/families/family.hpp"
#include "plan/layer_marks.hpp"
#include "spec/tensor_pattern.hpp"

namespace ziggurat::plan {
namespace {

/// Returns patterns of the trained tensors outside of layers, and of those that every layer trains.
///
/// If no such tensor exists, returns a norm of the head: backward of any layer needs its gradient too.
std::vector<std::string> trained_in_every_layer(const spec::RunSpec& run) {
    const auto is_trained = [&](const std::string& name) { return spec::is_trained(run.train, name); };
    std::vector<std::string> found;
    for (const auto& name : names_outside_layers(run.model)) {
        if (is_trained(name)) {
            found.push_back(name);
        }
    }
    for (const auto& after : names_after_layer(run.model)) {
        bool is_in_all = true;
        for (std::int64_t layer = 0; is_in_all && layer < run.model.layers; ++layer) {
            is_in_all = is_trained(layout::layer_name(static_cast<int>(layer)) + after);
        }
        if (is_in_all) {
            found.push_back("layers.*" + after);
        }
    }
    if (found.empty()) {
        found.push_back(layout::head_unit(run.model, {}).parameters.front().name);
    }
    return found;
}

}  // namespace

spec::RunSpec small_run(const spec::RunSpec& run, int stages, std::int64_t layers, int data) {
    auto made = run;
    auto& parallel = made.parallel;
    parallel.stages = stages;
    parallel.chunks_per_stage = 1;
    parallel.pipeline_schedule = spec::PipelineSchedule::one_f_one_b;
    parallel.stage_layers.clear();
    parallel.data = data * parallel.context * parallel.tensor_depth;
    parallel.ranks = stages * parallel.data * parallel.tensor_ranks();
    made.stages.clear();
    made.model.layers = layers * stages;
    made.train.accumulate = spec::AccumulationOrder::by_micro_batch;
    made.train.micro_batches = 3;  // the middle one neither begins nor ends a step
    made.train.global_batch = made.train.micro_batches * made.train.micro_batch * parallel.sequence_groups();
    auto& sharding = made.sharding;
    for (int* degree : {&sharding.parameters, &sharding.gradients, &sharding.optimizer}) {
        *degree = parallel.data % *degree == 0 ? *degree : parallel.data;  // spans divide each other
    }
    sharding.secondary = 0;
    sharding.sum_group = parallel.data;
    sharding.reduce = sharding.gradients > 1 ? spec::ReducePlan::each_microbatch : spec::ReducePlan::at_end;
    made.tiers.parameters = made.tiers.gradients = made.tiers.optimizer = made.tiers.activations = {};
    made.tiers.tiles.clear();
    if (std::ranges::any_of(run.train.only, may_distinguish_layers)) {
        made.train.only = trained_in_every_layer(run);
    }
    return made;
}

}  // namespace ziggurat::plan
