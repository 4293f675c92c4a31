/// Steps on a GPU: they never allocate on it or block on it, and train as the host does in bfloat16.
#include <gtest/gtest.h>

#include "tests/emulated_cuda/calls.hpp"
#include "tests/support/rank_test.hpp"
#include "tests/support/tiny_training.hpp"

namespace ziggurat {
namespace {

using emulated_cuda::Counted;
using emulated_cuda::num_calls;

void expect_no_calls_after_the_first_step(const spec::RunSpec& run) {
    std::int64_t reserving = 0;
    std::int64_t waiting = 0;
    test::TinyHooks hooks;
    hooks.after_step = [&](std::int64_t step) {
        if (step == 1) {
            reserving = num_calls(Counted::reserving);
            waiting = num_calls(Counted::waiting);
        }
        EXPECT_EQ(num_calls(Counted::reserving), reserving) << "step " << step;
        EXPECT_EQ(num_calls(Counted::waiting), waiting) << "step " << step;
        return true;
    };
    test::train_tiny(run, test::world(), test::Keep::nothing, {}, hooks);
    EXPECT_GT(reserving, 0);
}

class GpuStep : public ::testing::TestWithParam<const char*> {};

TEST_P(GpuStep, ReservesNothingAndWaitsForNothing) {
    auto run = test::tiny_run(GetParam(), test::world().size(), 2, 2);
    run.train.steps = 4;
    expect_no_calls_after_the_first_step(run);
}

TEST_P(GpuStep, NorWithStateOnTheHost) {
    const int ranks = test::world().size();
    auto run = test::tiny_run(GetParam(), ranks, 2, 2);
    run.train.steps = 4;
    run.sharding.parameters = run.sharding.gradients = run.sharding.optimizer = ranks;
    run.sharding.reduce = spec::ReducePlan::each_microbatch;
    run.tiers.parameters = run.tiers.optimizer = {.device = 0, .host = 1, .nvme = 0};
    run.tiers.chunk_elements = 4096;
    expect_no_calls_after_the_first_step(run);
}

/// Products on GPUs add the residual stream, and GELU of GPT-2: rounding differs from the host.
class GpuTraining : public ::testing::TestWithParam<const char*> {};

TEST_P(GpuTraining, InBfloat16IsThatOfTheHostForAnyRecomputation) {
    auto run = test::tiny_run(GetParam(), test::world().size(), 2, 2);
    run.precision.compute = spec::DType::bf16;
    run.model.dropout = 0;
    run.model.init_std = 0.3;  // so that branches are as large as the stream
    run.train.steps = 4;
    auto on_host = run;
    on_host.tiers.device = spec::DeviceKind::host;
    const auto expected = test::train_tiny(on_host, test::world(), test::Keep::nothing).losses;

    const auto losses = test::train_tiny(run, test::world(), test::Keep::nothing).losses;

    ASSERT_EQ(losses.size(), expected.size());
    for (std::size_t step = 0; step < losses.size(); ++step) {
        EXPECT_NEAR(losses[step], expected[step], 0.03 * expected[step]) << "step " << step;
    }
    for (const auto kind : {spec::RecomputeKind::selective, spec::RecomputeKind::full}) {
        run.recompute.kind = kind;
        const bool has_fused_gelu = run.model.family == "gpt2" && kind == spec::RecomputeKind::selective;
        const auto again = test::train_tiny(run, test::world(), test::Keep::nothing).losses;
        if (!has_fused_gelu) {
            EXPECT_EQ(again, losses);
        }
    }
}

/// Gradients of gated units in products of cuDNN: the gradient of their output is not rounded.
class GpuTrainingWithFusedProducts : public ::testing::TestWithParam<const char*> {};

TEST_P(GpuTrainingWithFusedProducts, IsThatOfTheHostForAnyRecomputation) {
    auto run = test::tiny_run(GetParam(), test::world().size(), 2, 2);
    run.precision.compute = spec::DType::bf16;
    run.model.init_std = 0.3;
    run.model.hidden = 48;
    run.model.ffn_hidden = 40;
    run.model.heads = run.model.kv_heads = 3;
    run.model.head_dim = 16;
    run.train.steps = 4;
    auto on_host = run;
    on_host.tiers.device = spec::DeviceKind::host;
    const auto losses_of = [](const spec::RunSpec& spec) {
        return test::train_tiny(spec, test::world(), test::Keep::nothing).losses;
    };
    const auto expected = losses_of(on_host);
    const auto expect_near = [&](const std::vector<double>& losses) {
        ASSERT_EQ(losses.size(), expected.size());
        for (std::size_t step = 0; step < losses.size(); ++step) {
            EXPECT_NEAR(losses[step], expected[step], 0.03 * expected[step]) << "step " << step;
        }
    };
    const auto apart = losses_of(run);
    run.precision.products = spec::ProductChoice::fused;
    const auto fused = losses_of(run);
    expect_near(fused);
    EXPECT_NE(fused, apart) << "nothing was fused";
    run.recompute.kind = spec::RecomputeKind::selective;
    EXPECT_EQ(losses_of(run), fused);
    run.recompute.kind = spec::RecomputeKind::full;
    expect_near(losses_of(run));
    run.precision.products = spec::ProductChoice::measured;
    expect_near(losses_of(run));
}

INSTANTIATE_TEST_SUITE_P(Families, GpuTrainingWithFusedProducts, ::testing::Values("llama", "gemma2"));
INSTANTIATE_TEST_SUITE_P(Families,
                         GpuTraining,
                         ::testing::Values("gpt2", "llama", "gpt_neox", "gemma2", "olmo2"));
INSTANTIATE_TEST_SUITE_P(Families, GpuStep, ::testing::Values("gpt2", "llama", "gpt_neox"));

}  // namespace
}  // namespace ziggurat
