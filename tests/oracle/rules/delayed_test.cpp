/// Delayed updates against PyTorch, also over a resume; tests/oracle/README.md defines the files.
#include <gtest/gtest.h>

#include "tests/oracle/rules/oracle_steps.hpp"
#include "tests/support/rank_test.hpp"
#include "tests/support/tiny_checkpoints.hpp"
#include "train/console/console.hpp"
#include "train/report/reporter.hpp"
#include "train/report/run_context.hpp"
#include "train/resume/resume.hpp"
#include "train/save/checkpointer.hpp"

namespace ziggurat::train {
namespace {

/// Trains some steps and saves, or resumes from that checkpoint.
void save_or_resume(OracleSteps& run, const comm::Context& group, std::int64_t steps) {
    const RunContext context{.version = "test", .libraries = "", .command = "", .effective_deck = ""};
    Console console{Console::quiet};
    Reporter reporter{run.spec, context, group, console};
    TimeAccounting account;
    const auto resumed = resume(run.spec, "", run.assembly.world(), run.assembly.state(), reporter);
    if (resumed.is_own) {
        EXPECT_EQ(resumed.progress.step, steps);
        return;
    }
    reporter.open(std::nullopt);
    Checkpointer saves{
        run.spec, context, run.assembly.world(), run.assembly.state(), run.assembly.step_requests(), reporter,
        account,  -1};
    run.expect_losses(0, steps);
    EXPECT_TRUE(saves.finish({.step = steps, .tokens = steps * run.targets, .next_sample = steps}));
}

void on_device(spec::RunSpec&) {}

void sharded_on_host(spec::RunSpec& run) {
    run.sharding.parameters = run.sharding.gradients = run.sharding.optimizer = run.parallel.ranks;
    run.sharding.reduce = spec::ReducePlan::each_microbatch;
    run.tiers.optimizer = run.tiers.gradients = {0, 1, 0};
    run.tiers.chunk_elements = 1024;
}

void saved(spec::RunSpec& run) {
    sharded_on_host(run);
    run.checkpoint.every = spec::Interval{.steps = 1000};
}

class DelayedUpdates : public ::testing::TestWithParam<spec::DType> {};

TEST_P(DelayedUpdates, HaveTheLossesAndWeightsOfPyTorch) {
    for (auto* const change : {on_device, sharded_on_host}) {
        OracleSteps run{"delayed_tiny", test::world(), GetParam(), change};
        run.expect_losses(0, run.steps());
        EXPECT_LE(run.weights_gap(), run.bounds.at("weights"));
    }
}

/// Saves after ordinary steps, the step whose update is the first delayed one, and later steps.
TEST_P(DelayedUpdates, HaveThemOverAResumeOnOtherRanks) {
    for (const std::int64_t steps : {2, 3, 4, 6}) {
        const test::SharedFolder folder{test::world()};
        {
            OracleSteps run{"delayed_tiny", test::world(), GetParam(), saved, folder.file("run")};
            save_or_resume(run, test::world(), steps);
        }
        const auto myself = test::world().group().split(test::world().rank());
        if (test::world().rank() == 0) {
            const auto alone = test::world().in(myself);
            OracleSteps run{"delayed_tiny", alone, GetParam(), on_device, folder.file("run")};
            save_or_resume(run, alone, steps);
            run.expect_losses(steps, run.steps());
            EXPECT_LE(run.weights_gap(), run.bounds.at("weights"));
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Types,
                         DelayedUpdates,
                         ::testing::Values(spec::DType::f32, spec::DType::bf16),
                         [](const auto& made) { return made.param == spec::DType::f32 ? "f32" : "bf16"; });

}  // namespace
}  // namespace ziggurat::train
