/// Steps on a GPU never allocate on it and never block on it, with state in any tier.
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

INSTANTIATE_TEST_SUITE_P(Families, GpuStep, ::testing::Values("gpt2", "llama", "gpt_neox"));

}  // namespace
}  // namespace ziggurat
