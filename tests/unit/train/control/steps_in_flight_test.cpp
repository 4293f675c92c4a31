#include "train/control/steps_in_flight.hpp"

#include <gtest/gtest.h>

#include "schedule/rotated_program.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::train {
namespace {

spec::RunSpec pipedream(int stages, int micro_batches) {
    spec::RunSpec run;
    run.parallel.stages = stages;
    run.parallel.pipeline_schedule = spec::PipelineSchedule::pipedream;
    run.train.micro_batches = micro_batches;
    return run;
}

void run_one(StepsInFlight& steps) {
    steps.begin().targets = steps.begun();
    steps.ran();
}

TEST(StepsInFlight, EndAtOnceWithAFlush) {
    const auto run = pipedream(1, 1);
    const schedule::PipelineFill fill{};
    StepsInFlight steps{run, fill, 5};
    run_one(steps);
    EXPECT_TRUE(steps.has_due());
    EXPECT_EQ(steps.end().targets, 5);
    EXPECT_FALSE(steps.has_due());
    EXPECT_TRUE(steps.is_between_steps());
    StepRequests asked;
    asked[StepRequest::checkpoint] = 1;
    EXPECT_EQ(steps.due(asked, 6)[StepRequest::checkpoint], 1);
    EXPECT_FALSE(steps.has_waiting());
}

TEST(StepsInFlight, EndWhenTheFirstStageKnows) {
    // 3 stages, one micro-batch: the first stage keeps 2 stashes, and one more step hides the sum.
    const auto run = pipedream(3, 1);
    const schedule::PipelineFill fill{.first_step = 0, .end_step = 5};
    StepsInFlight steps{run, fill, 0};
    for (int i = 0; i < 3; ++i) {
        run_one(steps);
        EXPECT_FALSE(steps.has_due()) << i;
    }
    run_one(steps);
    EXPECT_TRUE(steps.has_due());
    EXPECT_EQ(steps.oldest_targets(), 0);
    EXPECT_EQ(steps.end().targets, 0);
    EXPECT_FALSE(steps.has_due());
    EXPECT_FALSE(steps.is_drained());
    run_one(steps);
    EXPECT_TRUE(steps.is_drained());
    for (int i = 1; i < 5; ++i) {
        EXPECT_TRUE(steps.has_due());
        EXPECT_FALSE(steps.is_between_steps());
        EXPECT_EQ(steps.end().targets, i);
    }
    EXPECT_TRUE(steps.is_between_steps());
}

TEST(StepsInFlight, KeepRequestsForTheDrain) {
    const auto run = pipedream(2, 1);
    schedule::PipelineFill fill{.first_step = 0, .end_step = 10};
    StepsInFlight steps{run, fill, 0};
    StepRequests asked;
    asked[StepRequest::checkpoint] = 1;
    asked[StepRequest::stop_after_step] = 1;
    for (int i = 0; i < 3; ++i) {
        run_one(steps);
    }
    steps.end();
    const auto early = steps.due(asked, 1);
    EXPECT_EQ(early[StepRequest::checkpoint], 0);
    EXPECT_EQ(early[StepRequest::stop_after_step], 1);
    EXPECT_TRUE(steps.has_waiting());
    // A forward of step 3 has run.
    EXPECT_EQ(steps.soonest_end(), 4);
    fill.end_step = steps.soonest_end();
    run_one(steps);
    EXPECT_TRUE(steps.is_drained());
    for (int i = 2; i < 4; ++i) {
        steps.end();
        EXPECT_EQ(steps.due({}, i)[StepRequest::checkpoint], 0) << i;
    }
    steps.end();
    EXPECT_EQ(steps.due({}, 4)[StepRequest::checkpoint], 1);
    EXPECT_FALSE(steps.has_waiting());
    EXPECT_EQ(steps.due({}, 4)[StepRequest::checkpoint], 0);
}

TEST(StepsInFlight, IgnoreReportsOfAnEarlierSave) {
    const auto run = pipedream(2, 1);
    const schedule::PipelineFill fill{.first_step = 0, .end_step = 10};
    StepsInFlight steps{run, fill, 0};
    for (int i = 0; i < 3; ++i) {
        run_one(steps);
    }
    steps.save_changed();
    StepRequests ended;
    ended[StepRequest::save_ended] = 2;
    EXPECT_EQ(steps.due(ended, 3)[StepRequest::save_ended], 0);
    EXPECT_EQ(steps.due(ended, 4)[StepRequest::save_ended], 2);
}

}  // namespace
}  // namespace ziggurat::train
