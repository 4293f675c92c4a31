#include "plan/recompute/recompute_graph.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>

#include "plan/plan_run.hpp"
#include "plan/planned_time.hpp"
#include "plan/recompute/recompute_comparison.hpp"
#include "tests/unit/plan/recompute/layers_to_recompute.hpp"

namespace ziggurat::plan {
namespace {

spec::RunSpec with_kind(spec::RunSpec spec, spec::RecomputeKind kind) {
    spec.recompute.kind = kind;
    return spec;
}

TEST(RecomputeGraph, PredictsTimeAndMemoryOfTheKindsOfDecks) {
    for (const char* family : {"gpt2", "llama"}) {
        const auto spec = test::layers_to_recompute(family, 8);
        const auto machine = test::gpu_to_recompute();
        const auto graph = recompute_graph(spec, 0, rates_of(spec, machine));
        const auto device_bytes = [&](spec::RecomputeKind kind) {
            return static_cast<double>(
                plan_run(with_kind(spec, kind), machine, PlannedRanks::first).footprint.needed[0]);
        };
        const auto cost = [&](spec::RecomputeKind kind) {
            return cost_of(graph, choice_of_kind(graph, kind));
        };
        const auto none = cost(spec::RecomputeKind::none);
        const double step = planned_time(spec, machine).step_seconds;
        for (const auto kind : {spec::RecomputeKind::selective, spec::RecomputeKind::full}) {
            const auto saved = static_cast<double>(none.bytes - cost(kind).bytes);
            const double planned = device_bytes(spec::RecomputeKind::none) - device_bytes(kind);
            EXPECT_NEAR(saved, planned, 0.06 * planned) << family << " " << static_cast<int>(kind);
            const double longer = planned_time(with_kind(spec, kind), machine).step_seconds - step;
            EXPECT_NEAR(cost(kind).seconds, longer, 0.02 * longer) << family << " " << static_cast<int>(kind);
        }
    }
}

TEST(RecomputeGraph, HasTheOpsOfAPassWithoutGathersOfParameters) {
    auto spec = test::layers_to_recompute("llama", 2);
    spec.parallel.ranks = spec.parallel.ranks_per_node = spec.parallel.data = 2;
    spec.train.global_batch *= 2;
    spec.sharding = {2, 2, 2, 0, spec::ReducePlan::each_microbatch, 2};
    const auto graph = recompute_graph(spec, 0, rates_of(spec, test::gpu_to_recompute()));
    ASSERT_EQ(graph.kinds.size(), 1U);
    const auto& kind = graph.kinds.front();
    EXPECT_EQ(kind.layers, 2);
    EXPECT_TRUE(std::ranges::none_of(kind.ops, [](const LayerOp& op) { return op.seconds <= 0; }));
    EXPECT_TRUE(std::ranges::any_of(kind.ops, [](const LayerOp& op) { return op.is_selective; }));
    const auto one_rank = test::layers_to_recompute("llama", 2);
    EXPECT_EQ(
        cost_of(graph, keep_all(graph)).bytes,
        cost_of(recompute_graph(one_rank, 0, rates_of(one_rank, test::gpu_to_recompute())), keep_all(graph))
            .bytes);
}

TEST(RecomputeGraph, CountsTheMicroBatchesThatAPipelineKeeps) {
    auto spec = test::layers_to_recompute("gpt2", 8);
    spec.parallel.ranks = spec.parallel.ranks_per_node = spec.parallel.stages = 4;
    spec.train.micro_batches = 6;
    spec.train.global_batch = 6 * spec.train.micro_batch;
    const auto rates = rates_of(spec, test::gpu_to_recompute());
    EXPECT_EQ(recompute_graph(spec, 0, rates).in_flight, 4);
    EXPECT_EQ(recompute_graph(spec, 3, rates).in_flight, 1);
    EXPECT_EQ(recompute_graph(spec, 1, rates).kinds.front().layers, 2);
    spec.parallel.pipeline_schedule = spec::PipelineSchedule::gpipe;
    EXPECT_EQ(recompute_graph(spec, 0, rates).in_flight, 6);
}

TEST(RecomputeGraph, NamesWhatIsRecomputed) {
    const RecomputeGraph graph{
        .kinds = {{.layers = 4, .ops = {{.name = "norm"}, {.name = "product"}, {.name = "sum"}}}}};
    EXPECT_EQ(describe(graph, {{4, 1, 0}}), "norm in 4 layers, product in 1 of 4 layers");
    EXPECT_EQ(describe(graph, keep_all(graph)), "nothing");
}

}  // namespace
}  // namespace ziggurat::plan
