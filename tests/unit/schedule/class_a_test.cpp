/// Sharding never changes the training: layouts with equal bits have equal values in the simulation.
#include <gtest/gtest.h>

#include "tests/support/random/order_of_reference.hpp"
#include "tests/support/random/random_spec.hpp"
#include "tests/support/random/spec_coverage.hpp"
#include "tests/support/simulated_ranks.hpp"

namespace ziggurat::schedule {
namespace {

std::uint64_t fingerprint(const spec::RunSpec& spec, std::uint64_t seed) {
    const ExpectedResults truth{spec};
    const auto result = simulate(test::programs_of_all_ranks(spec), &truth, {.steps = 2, .seed = seed});
    EXPECT_EQ(result.report(), "") << test::described(spec);
    EXPECT_NE(result.fingerprint, 0U);
    return result.fingerprint;
}

/// Returns the run with all class A choices reset to the simplest; axes, sums and precision stay.
spec::RunSpec simplest(spec::RunSpec spec) {
    const auto sums = spec.sharding;
    spec.sharding = {1, 1, 1, 0, sums.reduce, sums.sum_group};
    if (sums.reduce == spec::ReducePlan::by_span) {
        spec.sharding.gradients = spec.sharding.optimizer = sums.gradients;
    }
    spec.parallel.stage_layers.clear();
    spec.overlap.prefetch = 0;
    spec.overlap.bucket_elements = 0;
    spec.overlap.optimizer_with_backward = false;
    // On GPUs, selective recomputation has other bits, because GELU is not fused (fuse_gelu_pass.hpp).
    const bool is_class_b =
        spec.tiers.device == spec::DeviceKind::cuda && spec.recompute.kind == spec::RecomputeKind::selective;
    spec.recompute.kind = is_class_b ? spec::RecomputeKind::selective : spec::RecomputeKind::none;
    spec.recompute.split = false;
    spec.train.accumulate = test::order_of_reference(spec);
    spec.tiers.parameters = spec.tiers.gradients = spec.tiers.optimizer = {1, 0, 0};
    spec.tiers.chunk_elements = 0;
    spec.tiers.embedding_on_host = spec.tiers.reuse = false;
    return spec;
}

TEST(ClassA, ShardingPrefetchBucketsRecomputationAndHomesLeaveTheSameBits) {
    for (std::uint64_t seed = 1; seed <= 30; ++seed) {
        auto spec = test::random_spec(seed, {.max_ranks = 8, .by_layer = true});
        spec.tiers.device = seed % 2 == 0 ? spec::DeviceKind::host : spec::DeviceKind::cuda;

        EXPECT_EQ(fingerprint(spec, seed), fingerprint(simplest(spec), seed + 1))
            << "seed " << seed << ": " << test::described(spec);
    }
}

TEST(ClassA, ByLayerAddsTheTwoPartsOfATiedTableInAnotherOrder) {
    auto spec = test::random_spec(1, {.context = false, .tiers = false, .frozen = false, .tiles = false});
    spec.parallel = {};
    spec.parallel.ranks = spec.parallel.data = 2;
    spec.train.micro_batches = 3;
    spec.model.tie_embeddings = true;
    spec.precision.gradient = spec::DType::f32;
    for (const auto reduce : {spec::ReducePlan::at_end, spec::ReducePlan::each_microbatch}) {
        spec.sharding = {1, 1, 2, 0, reduce, 2};
        spec.train.accumulate = spec::AccumulationOrder::by_micro_batch;
        const auto by_micro_batch = fingerprint(spec, 1);
        spec.train.accumulate = spec::AccumulationOrder::by_layer;

        EXPECT_EQ(fingerprint(spec, 1) == by_micro_batch, reduce == spec::ReducePlan::each_microbatch);
    }
}

TEST(ClassA, AnotherSumPlanIsSeen) {
    auto spec = test::random_spec(1, {.context = false, .tiers = false, .frozen = false, .tiles = false});
    spec.parallel = {};
    spec.parallel.ranks = spec.parallel.data = 2;
    spec.train.micro_batches = 2;
    spec.sharding = {1, 1, 2, 0, spec::ReducePlan::at_end, 2};
    const auto at_end = fingerprint(spec, 1);
    spec.sharding.reduce = spec::ReducePlan::each_microbatch;

    EXPECT_NE(fingerprint(spec, 1), at_end);
}

}  // namespace
}  // namespace ziggurat::schedule
