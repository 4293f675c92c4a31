#include "optim/learning_rate.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "kernels/adamw.hpp"
#include "optim/adamw_inputs.hpp"

namespace ziggurat::optim {
namespace {

using spec::ScheduleKind;

spec::LearningRate schedule_of(ScheduleKind kind) {
    return {.kind = kind, .warmup_steps = 4, .decay_steps = 5, .final_fraction = 0.1};
}

spec::Optimizer optimizer_of(double beta1, double beta2) {
    spec::Optimizer optimizer;
    optimizer.lr = 2;
    optimizer.beta1 = beta1;
    optimizer.beta2 = beta2;
    return optimizer;
}

constexpr ScheduleKind all_kinds[] = {ScheduleKind::constant, ScheduleKind::linear, ScheduleKind::cosine,
                                      ScheduleKind::warmup_stable_decay};

TEST(LearningRate, WarmsUpInEqualStepsFromAboveZeroToTheBase) {
    for (const auto kind : all_kinds) {
        const auto schedule = schedule_of(kind);
        EXPECT_DOUBLE_EQ(0.5, learning_rate(schedule, 2, 20, 0));
        EXPECT_DOUBLE_EQ(1.0, learning_rate(schedule, 2, 20, 1));
        EXPECT_DOUBLE_EQ(1.5, learning_rate(schedule, 2, 20, 2));
        EXPECT_DOUBLE_EQ(2.0, learning_rate(schedule, 2, 20, 3));
    }
}

TEST(LearningRate, EndsAtTheFinalFractionAndStaysThere) {
    for (const auto kind : all_kinds) {
        const double last = kind == ScheduleKind::constant ? 2 : 0.2;
        EXPECT_NEAR(last, learning_rate(schedule_of(kind), 2, 20, 19), 1e-15);
        EXPECT_NEAR(last, learning_rate(schedule_of(kind), 2, 20, 1000), 1e-15);
    }
}

TEST(LearningRate, FollowsItsCurveBetween) {
    // 16 steps after the warm-up: at step 11 half of them are done.
    EXPECT_DOUBLE_EQ(2.0, learning_rate(schedule_of(ScheduleKind::constant), 2, 20, 11));
    EXPECT_DOUBLE_EQ(2 * 0.55, learning_rate(schedule_of(ScheduleKind::linear), 2, 20, 11));
    EXPECT_DOUBLE_EQ(2 * 0.55, learning_rate(schedule_of(ScheduleKind::cosine), 2, 20, 11));
    EXPECT_DOUBLE_EQ(2 * (0.1 + 0.45 * (1 + std::cos(M_PI / 4))),
                     learning_rate(schedule_of(ScheduleKind::cosine), 2, 20, 7));
    EXPECT_DOUBLE_EQ(2.0, learning_rate(schedule_of(ScheduleKind::warmup_stable_decay), 2, 20, 14));
    EXPECT_DOUBLE_EQ(2 * (1 - 0.9 / 5),
                     learning_rate(schedule_of(ScheduleKind::warmup_stable_decay), 2, 20, 15));
    EXPECT_DOUBLE_EQ(2 * (1 - 0.9 * 4 / 5),
                     learning_rate(schedule_of(ScheduleKind::warmup_stable_decay), 2, 20, 18));
}

TEST(LearningRate, NeverRisesAfterTheWarmUp) {
    for (const auto kind : all_kinds) {
        for (std::int64_t step = 4; step < 20; ++step) {
            EXPECT_LE(learning_rate(schedule_of(kind), 2, 20, step),
                      learning_rate(schedule_of(kind), 2, 20, step - 1));
        }
    }
}

TEST(LearningRate, BearsWarmUpsAndDecaysLongerThanTheRun) {
    auto schedule = schedule_of(ScheduleKind::warmup_stable_decay);
    schedule.decay_steps = 1000;
    EXPECT_DOUBLE_EQ(2 * (1 - 0.9 / 16), learning_rate(schedule, 2, 20, 4));

    schedule.warmup_steps = 40;
    EXPECT_DOUBLE_EQ(1.0, learning_rate(schedule, 2, 20, 19));

    schedule.warmup_steps = 0;
    schedule.decay_steps = 0;
    EXPECT_DOUBLE_EQ(2.0, learning_rate(schedule, 2, 20, 19));
    EXPECT_DOUBLE_EQ(2.0 * 0.1,
                     learning_rate({.kind = ScheduleKind::linear, .final_fraction = 0.1}, 2, 1, 0));
}

TEST(StepInputs, HoldBiasCorrectionsOfTheUpdateNotOfTheStep) {
    const auto optimizer = optimizer_of(0.9, 0.95);

    const auto inputs = make_step_inputs(
        optimizer, {}, learning_rate(schedule_of(ScheduleKind::constant), optimizer.lr, 20, 11), 11, 3, 4096);

    EXPECT_EQ(11, inputs.step);
    EXPECT_EQ(2.0f, inputs.learning_rate);
    const double beta1 = 0.9, beta2 = 0.95;
    EXPECT_FLOAT_EQ(static_cast<float>(1 / (1 - beta1 * beta1 * beta1)), inputs.inverse_bias1);
    EXPECT_FLOAT_EQ(static_cast<float>(1 / std::sqrt(1 - beta2 * beta2 * beta2)), inputs.inverse_sqrt_bias2);
    EXPECT_EQ(1.0f / 4096, inputs.loss_scale);
    EXPECT_EQ(1.0f, inputs.gradient_scale);
    EXPECT_EQ(0, inputs.skip);
}

TEST(StepInputs, CorrectByTheWeightsThatTheKernelGives) {
    for (const double beta2 : {0.95, 0.999, 0.9999, 0.999999}) {
        const kernels::Decay decay{beta2};
        double weights = 0;
        for (std::int64_t update = 1; update <= 100'000; ++update) {
            weights = double{decay.keep} * weights + double{decay.take};
            if (update == 1 || update == 10 || update == 3000 || update == 100'000) {
                const auto inputs = make_step_inputs(optimizer_of(0.9, beta2), {}, 1, 0, update, 1);
                EXPECT_NEAR(1, double{inputs.inverse_sqrt_bias2} * std::sqrt(weights), 1e-7)
                    << beta2 << " " << update;
            }
        }
    }
}

TEST(StepInputs, CopyTheWeightsIntoTheirAverageUntilItBegins) {
    const auto optimizer = optimizer_of(0.9, 0.95);
    for (const std::int64_t update : {1, 2, 3, 4}) {
        const auto inputs = make_step_inputs(optimizer, {.decay = 0.75, .from = 2}, 1, update - 1, update, 1);
        EXPECT_EQ(inputs.average_keep, update <= 2 ? 0.0f : 0.75f);
        EXPECT_EQ(inputs.average_take, update <= 2 ? 1.0f : 0.25f);
    }
}

TEST(StepInputs, AreFiniteAtTheEdges) {
    const auto optimizer = optimizer_of(0, 0.9999999);

    const auto first = make_step_inputs(
        optimizer, {}, learning_rate(schedule_of(ScheduleKind::constant), optimizer.lr, 20, 0), 0, 1, 0);

    EXPECT_EQ(1.0f, first.inverse_bias1);
    EXPECT_NEAR(1 / std::sqrt(1 - 0.9999999), first.inverse_sqrt_bias2, 0.01);
    EXPECT_EQ(0.0f, first.loss_scale);
}

}  // namespace
}  // namespace ziggurat::optim
