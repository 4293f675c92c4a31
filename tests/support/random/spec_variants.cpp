#include "tests/support/random/spec_variants.hpp"

#include <utility>

#include "layout/context/context_heads.hpp"

namespace ziggurat::test {

spec::RunSpec with_grid(const spec::RunSpec& spec, int side, int max_ranks) {
    auto made = spec;
    auto& parallel = made.parallel;
    const auto others = parallel.stages * parallel.data;
    if (side * side * others > max_ranks) {
        return spec;
    }
    parallel.tensor = parallel.tensor_rows = side;
    parallel.tensor_mode = spec::TensorMode::two_d;
    parallel.ranks = side * side * others;
    parallel.sequence = false;
    auto& model = made.model;
    const auto up = [&](std::int64_t number) { return (number + side - 1) / side * side; };
    const bool is_own_width = model.hidden != model.heads * model.head_dim;
    const auto queries = model.heads / model.kv_heads;
    model.kv_heads = up(model.kv_heads);
    model.heads = model.kv_heads * queries;
    model.hidden = is_own_width ? up(model.hidden) : model.heads * model.head_dim;
    model.ffn_hidden = up(model.ffn_hidden);
    model.vocab_padded = up(model.vocab_padded);
    if (!layout::can_exchange_heads(model, parallel, side)) {
        return spec;
    }
    made.train.global_batch = made.train.micro_batch * made.train.micro_batches * parallel.sequence_groups();
    made.overlap.tensor_pieces = made.recompute.split = false;
    for (auto& stage : made.stages) {
        stage.recompute.split = false;
    }
    return made;
}

spec::RunSpec with_cube(const spec::RunSpec& spec, int max_ranks) {
    const int side = spec.parallel.tensor;
    const int times = spec.parallel.data / spec.parallel.context % side == 0 ? 1 : side;
    if (!spec.parallel.has_grid() || spec.parallel.ranks * times > max_ranks) {
        return spec;
    }
    auto made = spec;
    auto& parallel = made.parallel;
    parallel.tensor_mode = spec::TensorMode::three_d;
    parallel.tensor_depth = side;
    parallel.ranks *= times;
    parallel.data *= times;
    auto& sharding = made.sharding;
    const bool is_whole = times > 1 || sharding.parameters % side == 0;  // spans are whole layers
    for (int* span : {&sharding.parameters, &sharding.gradients, &sharding.optimizer}) {
        *span = is_whole ? *span * times : parallel.data;
    }
    sharding.sum_group = parallel.data;
    made.train.global_batch = made.train.micro_batch * made.train.micro_batches * parallel.sequence_groups();
    return made;
}

spec::RunSpec with_reuse(spec::RunSpec spec) {
    spec.precision.compute = spec.precision.gradient = spec::DType::bf16;
    spec.train.global_batch /= spec.train.micro_batches;
    spec.train.micro_batches = 1;
    spec.sharding.gradients = spec.sharding.optimizer = spec.sharding.parameters;
    spec.sharding.reduce = spec::ReducePlan::each_microbatch;
    spec.overlap.optimizer_with_backward = spec.overlap.delayed_update = false;
    spec.tiers.tiles.clear();
    spec.tiers.parameters.host += std::exchange(spec.tiers.parameters.nvme, 0);
    spec.tiers.gradients = spec.tiers.parameters;
    spec.tiers.reuse = true;
    return spec;
}

spec::RunSpec without_flush(spec::RunSpec spec) {
    spec.parallel.pipeline_schedule = spec::PipelineSchedule::pipedream;
    if (std::exchange(spec.parallel.chunks_per_stage, 1) > 1) {
        spec.parallel.stage_layers.clear();
        spec.stages.clear();
    }
    spec.model.tie_embeddings = false;
    spec.optimizer.clip = spec::ClipPolicy::off;
    spec.overlap.optimizer_with_backward = spec.overlap.delayed_update = false;
    spec.sharding.leases = spec::LeaseSpan::pass;
    spec.sharding.secondary = 0;
    return spec;
}

}  // namespace ziggurat::test
