#include "train/control/training_schedule.hpp"

#include <gtest/gtest.h>

namespace ziggurat::train {
namespace {

using checkpoint::TrainingProgress;
using spec::ScheduleKind;
using spec::WhenExtended;

/// Returns 60 steps of 8 x 32 tokens, or the same number of tokens.
spec::RunSpec run_of(bool is_by_tokens, ScheduleKind kind = ScheduleKind::cosine) {
    spec::RunSpec run;
    run.data.seq = 32;
    run.train.global_batch = 8;
    run.train.steps = 60;
    run.train.tokens = is_by_tokens ? 15360 : 0;
    run.optimizer.lr = 1e-3;
    run.schedule = {.kind = kind, .warmup_steps = 5, .final_fraction = 0.1};
    return run;
}

/// Returns the progress of a run after `steps` steps of equal size.
TrainingProgress after(const spec::RunSpec& run, std::int64_t steps, const TrainingProgress& begin = {}) {
    const TrainingSchedule course{run, begin};
    TrainingProgress progress{.step = begin.step + steps,
                              .tokens = begin.tokens + steps * run.train.global_batch * run.data.seq};
    progress.course = course.record(progress.step, progress.tokens);
    return progress;
}

double rate_at(const spec::RunSpec& run, const TrainingProgress& at, const TrainingProgress& begin) {
    return TrainingSchedule{run, begin}.rate(at.step, at.tokens);
}

TEST(TrainingSchedule, IsTheScheduleOfTheDeckToTheBit) {
    for (const bool is_by_tokens : {false, true}) {
        for (const auto kind : {ScheduleKind::constant, ScheduleKind::cosine, ScheduleKind::linear}) {
            const auto run = run_of(is_by_tokens, kind);
            const TrainingSchedule course{run};
            EXPECT_EQ(60, course.end_step());
            for (std::int64_t step = 0; step < 60; ++step) {
                const double rate = optim::learning_rate(run.schedule, 1e-3, 60, step);
                ASSERT_EQ(rate, course.rate(step, 256 * step));
                ASSERT_EQ(rate, TrainingSchedule(run, after(run, step)).rate(step, 256 * step))
                    << "and where it goes on";
            }
        }
    }
}

TEST(TrainingSchedule, ARunByTokensEndsWithThemWhateverItsBatchesWere) {
    auto run = run_of(true);
    const auto finished = after(run, 60);
    EXPECT_EQ(60, TrainingSchedule(run, finished).end_step());

    run.train.tokens = 25600;  // 10,240 more, in steps of 512
    run.train.global_batch = 16;
    run.train.steps = 50;
    const TrainingSchedule course{run, finished};
    EXPECT_EQ(80, course.end_step());
    EXPECT_EQ(optim::learning_rate(run.schedule, 1e-3, 50, 30), course.rate(60, 15360))
        << "by tokens, it is where a run of such batches would be";
    EXPECT_DOUBLE_EQ(1e-4, course.rate(79, 25088));

    run.train.tokens = 25601;
    EXPECT_EQ(81, TrainingSchedule(run, finished).end_step());
    run.train.tokens = 10000;
    EXPECT_EQ(60, TrainingSchedule(run, finished).end_step()) << "nothing is left";
}

TEST(TrainingSchedule, AWarmUpIsCountedAsTheDeckCountsIt) {
    auto run = run_of(true, ScheduleKind::constant);
    run.schedule.warmup_steps = 20;
    const auto half = after(run, 10);
    run.train.global_batch = 16;
    run.schedule.is_warmup_in_tokens = false;  // 20 steps, of which 10 are done
    EXPECT_DOUBLE_EQ(1e-3 * 11 / 20, rate_at(run, half, half));
    run.schedule.is_warmup_in_tokens = true;  // 5,120 tokens: 10 of the larger steps, 5 of them done
    run.schedule.warmup_steps = 10;
    EXPECT_DOUBLE_EQ(1e-3 * 6 / 10, rate_at(run, half, half));
}

TEST(TrainingSchedule, ARescaledScheduleEndsWithTheRun) {
    auto run = run_of(false);
    const auto finished = after(run, 60);
    run.train.steps = 120;
    const TrainingSchedule course{run, finished};
    EXPECT_TRUE(course.has_other_end());
    EXPECT_EQ(optim::learning_rate(run.schedule, 1e-3, 120, 60), course.rate(60, 15360));
    EXPECT_GT(course.rate(60, 15360), 5 * finished.course.next_rate) << "it jumps";
}

TEST(TrainingSchedule, AHeldScheduleStaysAtItsEnd) {
    auto run = run_of(false);
    const auto finished = after(run, 60);
    run.train.steps = 120;
    run.schedule.when_extended = WhenExtended::hold;
    EXPECT_EQ(finished.course.next_rate, rate_at(run, finished, finished));
    const auto later = after(run, 30, finished);
    EXPECT_EQ(90, later.step);
    EXPECT_EQ(finished.course.next_rate, rate_at(run, later, later)) << "and when it goes on once more";

    const auto early = after(run_of(false), 30);
    EXPECT_EQ(early.course.next_rate, rate_at(run, early, early)) << "it goes down as it would have";
    EXPECT_DOUBLE_EQ(1e-4, TrainingSchedule(run, early).rate(100, 25600));

    run.train.steps = 40;
    EXPECT_DOUBLE_EQ(1e-4, TrainingSchedule(run, early).rate(39, 39 * 256))
        << "a shorter run has its own end";
}

TEST(TrainingSchedule, ARestartedScheduleBeginsWithItsWarmUp) {
    for (const bool is_by_tokens : {false, true}) {
        auto run = run_of(is_by_tokens);
        const auto finished = after(run, 60);
        run.train.steps = 100;
        run.train.tokens = is_by_tokens ? 25600 : 0;
        run.schedule.when_extended = WhenExtended::restart;
        const TrainingSchedule course{run, finished};
        for (std::int64_t step = 0; step < 40; ++step) {
            ASSERT_EQ(optim::learning_rate(run.schedule, 1e-3, 40, step),
                      course.rate(60 + step, 15360 + 256 * step));
        }
        const auto later = after(run, 20, finished);
        EXPECT_EQ(course.rate(80, 20480), rate_at(run, later, later)) << "it begins once";
        EXPECT_EQ(60, TrainingSchedule(run, later).record(80, 20480).begin_step);
    }
}

TEST(TrainingSchedule, ACheckpointThatDoesNotSayIsOfThePresentDeck) {
    auto run = run_of(false);
    run.train.steps = 120;
    const TrainingProgress before{.step = 60, .tokens = 15360};
    EXPECT_FALSE(TrainingSchedule(run, before).has_other_end());
    EXPECT_EQ(optim::learning_rate(run.schedule, 1e-3, 120, 60), rate_at(run, before, before));
}

}  // namespace
}  // namespace ziggurat::train
