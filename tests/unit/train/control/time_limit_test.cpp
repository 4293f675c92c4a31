#include "train/control/time_limit.hpp"

#include <gtest/gtest.h>

namespace ziggurat::train {
namespace {

constexpr std::int64_t second = 1'000'000'000;

TEST(TimeLimit, LeavesTwiceTheSlowestStepAndCheckpoint) {
    TimeLimit limit{1000 * second, "run.time_limit", 0};
    limit.step_took(3);
    limit.step_took(5);
    limit.step_took(4);
    limit.checkpoint_took(20);
    limit.checkpoint_took(10);

    EXPECT_DOUBLE_EQ(limit.margin_seconds(), 50);
    EXPECT_FALSE(limit.is_near(950 * second));
    EXPECT_TRUE(limit.is_near(950 * second + 1));
    EXPECT_TRUE(limit.is_near(1001 * second)) << "and after the end";
}

TEST(TimeLimit, TrustsAGuessOnlyUntilACheckpointWasMeasured) {
    TimeLimit limit{1000 * second, "run.time_limit", 60};
    limit.step_took(1);
    EXPECT_DOUBLE_EQ(limit.margin_seconds(), 122);
    limit.checkpoint_took(2);
    EXPECT_DOUBLE_EQ(limit.margin_seconds(), 6);
}

TEST(TimeLimit, AllowsOneStepBeforeAnyWasMeasured) {
    const TimeLimit limit{1000 * second, "run.time_limit", 0};
    EXPECT_FALSE(limit.is_near(999 * second));
    EXPECT_DOUBLE_EQ(limit.seconds_left(999 * second), 1);
}

TEST(FindTimeLimit, TakesTheEarlierOfDeckAndEnvironment) {
    spec::RunSpec run;
    run.model.family = "gpt2";
    EXPECT_FALSE(find_time_limit(run, 0, std::nullopt));

    run.run.time_limit_seconds = 100;
    EXPECT_EQ(find_time_limit(run, 7 * second, std::nullopt)->end_ns(), 107 * second);
    EXPECT_EQ(find_time_limit(run, 7 * second, 106 * second)->end_ns(), 106 * second);
    EXPECT_EQ(find_time_limit(run, 7 * second, 106 * second)->source(), "ZIGGURAT_STOP_AT");
    EXPECT_EQ(find_time_limit(run, 7 * second, 108 * second)->source(), "run.time_limit");
    EXPECT_EQ(find_time_limit(run, 0, std::nullopt, "the end of Slurm job 7")->source(),
              "the end of Slurm job 7");
    run.run.time_limit_seconds.reset();
    EXPECT_EQ(find_time_limit(run, 7 * second, 108 * second)->end_ns(), 108 * second);
}

TEST(FindTimeLimit, ThinksOfACheckpointWhereThereWillBeOne) {
    spec::RunSpec run;
    run.model = {.family = "gpt2",
                 .layers = 10,
                 .hidden = 1024,
                 .heads = 8,
                 .kv_heads = 8,
                 .head_dim = 128,
                 .ffn_hidden = 4096,
                 .vocab = 256};
    run.run.time_limit_seconds = 100;
    EXPECT_EQ(find_time_limit(run, 0, std::nullopt)->margin_seconds(), 0);
    run.checkpoint.every = spec::Interval{.steps = 10};
    const double margin = find_time_limit(run, 0, std::nullopt)->margin_seconds();
    EXPECT_GT(margin, 2 * 1.2) << "of 126 million parameters";
    EXPECT_LT(margin, 2 * 1.8);
}

}  // namespace
}  // namespace ziggurat::train
