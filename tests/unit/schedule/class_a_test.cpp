/// Sharding never changes the training: layouts with equal bits have equal values in the simulation.
#include <gtest/gtest.h>

#include <utility>

#include "layout/families/gated_unit.hpp"
#include "schedule/build_program.hpp"
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

bool is_fused(const spec::RunSpec& spec) {
    return spec.precision.products == spec::ProductChoice::fused;
}

/// Returns the numbers of fused products of rank 0, and of those with the output of their unit.
std::pair<int, int> fused_products(const spec::RunSpec& spec) {
    const ModelLayout model{spec, 0};
    const auto program = build_program(spec, model, Variant::train);
    int num_fused = 0, num_with_output = 0;
    for (const auto& op : program.ops) {
        if (program.find_read(op, Role::activation_input) != nullptr &&
            layout::gated_unit_before(model.table.units[static_cast<std::size_t>(op.unit)], op.phase)) {
            ++num_fused;
            num_with_output += program.find_write(op, Role::activated) != nullptr ? 1 : 0;
        }
    }
    return {num_fused, num_with_output};
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
    // On GPUs, selective recomputation has other bits, because GELU is not fused (fuse_gelu_pass.hpp). So has
    // full recomputation with precision.products fused (fuse_glu_product_pass.hpp).
    const bool is_class_b = spec.tiers.device == spec::DeviceKind::cuda &&
                            (spec.recompute.kind == spec::RecomputeKind::selective ||
                             (spec.recompute.kind == spec::RecomputeKind::full && is_fused(spec)));
    spec.recompute.kind = is_class_b ? spec.recompute.kind : spec::RecomputeKind::none;
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

TEST(ClassA, FusedProductsOfGatedUnitsHaveTheSameBitsInAnyLayout) {
    int num_fused = 0, num_with_output = 0, num_compared = 0;
    for (std::uint64_t seed = 1; seed <= 80; ++seed) {
        auto spec = test::random_spec(seed, {.max_ranks = 4, .by_layer = true});
        if (spec.precision.compute != spec::DType::bf16) {
            continue;
        }
        spec.tiers.device = spec::DeviceKind::cuda;
        spec.precision.products = spec::ProductChoice::fused;
        const auto [fused, with_output] = fused_products(spec);
        num_fused += fused;
        num_with_output += with_output;
        auto whole = simplest(spec);
        const auto expected = fingerprint(whole, seed + 1);
        EXPECT_EQ(fingerprint(spec, seed), expected) << "seed " << seed << ": " << test::described(spec);
        // Pieces of a fused product compute the output again in pieces, but forward computes it as a whole.
        if (with_output > 0 && !spec.overlap.tensor_pieces) {
            ++num_compared;
            whole.recompute.kind = spec::RecomputeKind::none;
            EXPECT_EQ(fingerprint(whole, seed), expected) << "seed " << seed << ": " << test::described(spec);
        }
    }
    EXPECT_GT(num_fused, 20);
    EXPECT_GT(num_with_output, 5);
    EXPECT_GT(num_compared, 2);
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
