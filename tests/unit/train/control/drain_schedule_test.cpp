#include "train/control/drain_schedule.hpp"

#include <gtest/gtest.h>

#include "train/control/interval_trigger.hpp"

namespace ziggurat::train {
namespace {

// The next drain is the step after which the interval is due.
TEST(DrainSchedule, EndsWithTheIntervals) {
    constexpr std::int64_t tokens_per_step = 7;
    for (const auto& every : {spec::Interval{.steps = 4}, spec::Interval{.tokens = 20},
                              spec::Interval{.steps = 5, .tokens = 33}, spec::Interval{.tokens = 3}}) {
        IntervalTrigger trigger{every};
        std::int64_t begun = 0;
        for (std::int64_t step = 1; step <= 60; ++step) {
            const auto next = next_end(every, begun, begun * tokens_per_step, tokens_per_step, 1000);
            EXPECT_EQ(trigger.is_due(step, step * tokens_per_step), step == next) << "step " << step;
            begun = step == next ? step : begun;
        }
    }
}

TEST(DrainSchedule, EndsWithCheckpointsValidationsAndTheRun) {
    spec::RunSpec run;
    run.train.steps = 10;
    run.train.global_batch = 2;
    run.data.seq = 16;
    EXPECT_EQ(next_drain(run, 0, 0), 10);
    run.checkpoint.every = spec::Interval{.steps = 4};
    run.validate.every = spec::Interval{.steps = 6};
    EXPECT_EQ(next_drain(run, 0, 0), 4);
    EXPECT_EQ(next_drain(run, 4, 128), 6);
    EXPECT_EQ(next_drain(run, 8, 256), 10);
    run.checkpoint.every = spec::Interval{.seconds = 1};
    EXPECT_EQ(next_drain(run, 6, 192), 10);
}

}  // namespace
}  // namespace ziggurat::train
