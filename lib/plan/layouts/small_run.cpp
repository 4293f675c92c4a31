#include "plan/layouts/small_run.hpp"

#include <algorithm>

namespace ziggurat::plan {

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
        *degree = std::min(*degree, parallel.data);
    }
    sharding.secondary = 0;
    sharding.sum_group = parallel.data;
    sharding.reduce = sharding.gradients > 1 ? spec::ReducePlan::each_microbatch : spec::ReducePlan::at_end;
    made.tiers.parameters = made.tiers.gradients = made.tiers.optimizer = made.tiers.activations = {};
    made.tiers.tiles.clear();
    return made;
}

}  // namespace ziggurat::plan
