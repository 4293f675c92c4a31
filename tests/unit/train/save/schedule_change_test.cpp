#include "train/resume/schedule_change.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "train/control/training_schedule.hpp"

namespace ziggurat::train {
namespace {

using checkpoint::DeckChange;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

spec::RunSpec run_of(spec::ScheduleKind kind = spec::ScheduleKind::cosine) {
    spec::RunSpec run;
    run.data.seq = 32;
    run.train.global_batch = 8;
    run.train.steps = 60;
    run.optimizer.lr = 1e-3;
    run.schedule = {.kind = kind, .final_fraction = 0.1};
    return run;
}

checkpoint::TrainingProgress later(const spec::RunSpec& run, std::int64_t steps) {
    checkpoint::TrainingProgress progress{.step = steps, .tokens = 256 * steps};
    progress.course = TrainingSchedule{run}.record(steps, progress.tokens);
    return progress;
}

DeckChange change_of(const char* key, const char* before, const char* after) {
    DeckChange change;
    change.key = key;
    change.before = before;
    change.after = after;
    return change;
}

const std::vector<DeckChange> longer{change_of("train.steps", "60", "120")};

TEST(CourseChange, ARunAsItWasHearsNothing) {
    const auto message = check_schedule(run_of(), later(run_of(), 30), {});
    EXPECT_THAT(message.warnings, IsEmpty());
    EXPECT_THAT(message.notes, IsEmpty());
}

TEST(CourseChange, TellsBothRatesAtTheSeamAndHowToGoOnWithoutAJump) {
    auto run = run_of();
    run.train.steps = 120;
    const auto message = check_schedule(run, later(run_of(), 60), longer);
    EXPECT_THAT(message.notes, ElementsAre("train.steps 60 -> 120: 60 steps are left"));
    EXPECT_THAT(
        message.warnings,
        ElementsAre(AllOf(HasSubstr("step 61 takes a learning rate of 0.0005382, and would have taken "
                                    "0.0001."),
                          HasSubstr("schedule.when_extended=hold"))));

    run.schedule.when_extended = spec::WhenExtended::hold;
    const auto held = check_schedule(run, later(run_of(), 60), longer);
    EXPECT_THAT(held.warnings, IsEmpty());
    EXPECT_THAT(held.notes, ElementsAre("train.steps 60 -> 120: 60 steps are left"));
    run.schedule.when_extended = spec::WhenExtended::restart;
    EXPECT_THAT(check_schedule(run, later(run_of(), 60), longer).warnings,
                ElementsAre(AllOf(HasSubstr("would have taken 0.0001."), Not(HasSubstr("when_extended")))));
}

TEST(CourseChange, MoreStepsUnderAConstantRateAreTheSameTraining) {
    auto run = run_of(spec::ScheduleKind::constant);
    const auto before = later(run, 60);
    run.train.steps = 120;
    const auto message = check_schedule(run, before, longer);
    EXPECT_THAT(message.warnings, IsEmpty());
    EXPECT_THAT(message.notes, ElementsAre("train.steps 60 -> 120: 60 steps are left"));
}

TEST(CourseChange, AnEndThatMovesBehindTheSeamIsNoted) {
    auto run = run_of(spec::ScheduleKind::warmup_stable_decay);
    run.schedule.decay_steps = 10;
    const auto before = later(run, 40);
    run.train.steps = 120;
    const auto message = check_schedule(run, before, longer);
    EXPECT_THAT(message.warnings, IsEmpty());
    EXPECT_THAT(message.notes, ElementsAre(HasSubstr("80 steps are left"),
                                           HasSubstr("continues at 0.001 and reaches 0.0001 in step 120")));
}

TEST(CourseChange, ARateOfTheDeckIsToldAsTheNextStepTakesIt) {
    auto run = run_of();
    run.optimizer.lr = 2e-3;
    const auto message =
        check_schedule(run, later(run_of(), 30), {change_of("optimizer.lr", "1.0e-3", "2.0e-3")});
    EXPECT_THAT(
        message.warnings,
        ElementsAre(AllOf(HasSubstr("optimizer.lr 1.0e-3 -> 2.0e-3: step 31 takes a learning rate of "),
                          Not(HasSubstr("when_extended")))));
}

TEST(CourseChange, OtherBatchesSayWhatIsLeft) {
    auto run = run_of();
    const auto before = later(run, 40);
    run.train.global_batch = 16;
    EXPECT_THAT(check_schedule(run, before, {change_of("train.global_batch", "8", "16")}).warnings,
                ElementsAre(HasSubstr("from step 41 on, steps take 512 tokens; 20 steps are left")));
    run.train.tokens = 60 * 256;
    EXPECT_THAT(check_schedule(run, before, {change_of("train.global_batch", "8", "16")}).warnings,
                ElementsAre(HasSubstr("steps take 512 tokens; 10 steps are left"),
                            HasSubstr("step 41 takes a learning rate of 0.0002855")))
        << "it is further down behind so many tokens";
}

TEST(CourseChange, AnOlderCheckpointDoesNotKnowItsRate) {
    const checkpoint::TrainingProgress before{.step = 30, .tokens = 30 * 256};
    EXPECT_THAT(check_schedule(run_of(), before, {change_of("optimizer.lr", "1", "2")}).warnings,
                ElementsAre(HasSubstr("the rate without the change is unknown")));
    EXPECT_THAT(check_schedule(run_of(), before, {}).warnings, IsEmpty());
}

}  // namespace
}  // namespace ziggurat::train
