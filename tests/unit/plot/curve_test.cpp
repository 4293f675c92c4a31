#include "plot/curve.hpp"

#include <gtest/gtest.h>

namespace ziggurat::plot {
namespace {

History history_of(std::int64_t steps, std::int64_t first = 1) {
    History history;
    for (std::int64_t i = 0; i < steps; ++i) {
        history.steps.push_back(
            {.step = first + i, .loss = static_cast<double>(i % 10), .tok_s = 100, .step_s = 1});
    }
    return history;
}

TEST(Curve, FewStepsArePointsOfTheirOwn) {
    const Curve curve = make_curve(history_of(20, 5), {.max_points = 20}, loss_value());
    ASSERT_EQ(curve.size(), 20U);
    for (std::size_t i = 0; i < curve.size(); ++i) {
        EXPECT_EQ(curve[i].x, 5 + static_cast<double>(i));
        EXPECT_EQ(curve[i].mean, static_cast<double>(i % 10));
        EXPECT_EQ(curve[i].low, curve[i].mean);
        EXPECT_EQ(curve[i].high, curve[i].mean);
    }
}

TEST(Curve, ManyStepsKeepTheirMeanAndTheirExtremes) {
    History history = history_of(1000);
    history.steps[777].loss = 1e6;
    const Curve curve = make_curve(history, {.max_points = 100}, loss_value());
    ASSERT_EQ(curve.size(), 100U);
    EXPECT_DOUBLE_EQ(curve[0].x, 5.5);
    EXPECT_DOUBLE_EQ(curve[0].mean, 4.5);
    EXPECT_EQ(curve[0].low, 0);
    EXPECT_EQ(curve[0].high, 9);
    EXPECT_EQ(curve[77].high, 1e6);
}

TEST(Curve, StepsWithoutALossLeaveAGap) {
    History history = history_of(10);
    history.steps[4].loss = std::nullopt;
    const Curve curve = make_curve(history, {.max_points = 100}, loss_value());
    ASSERT_EQ(curve.size(), 9U);
    EXPECT_EQ(curve[3].x, 4);
    EXPECT_EQ(curve[4].x, 6);
}

TEST(Curve, SpeedIsTokensOverTime) {
    History history = history_of(2);
    history.steps[0].tok_s = 100;
    history.steps[0].step_s = 3;
    history.steps[1].tok_s = 500;
    const Curve curve = make_curve(history, {.max_points = 1}, speed_value());
    ASSERT_EQ(curve.size(), 1U);
    EXPECT_DOUBLE_EQ(curve[0].mean, 200);
}

TEST(Curve, WaitsAreSharesOfTheTime) {
    History history = history_of(1);
    history.steps[0].step_s = 2;
    history.steps[0].stall_s[1] = 0.5F;
    history.steps[0].stall_s[5] = 0.25F;
    EXPECT_DOUBLE_EQ(make_curve(history, {.max_points = 9}, stall_value(1)).at(0).mean, 25);
    EXPECT_DOUBLE_EQ(make_curve(history, {.max_points = 9}, stall_value(5)).at(0).mean, 12.5);
    EXPECT_DOUBLE_EQ(make_curve(history, {.max_points = 9}, stall_value(lanes.size())).at(0).mean, 37.5);
}

}  // namespace
}  // namespace ziggurat::plot
