#include "plot/value_range.hpp"

#include <gtest/gtest.h>

namespace ziggurat::plot {
namespace {

/// Returns a line from 1 to 2, with other values at some points.
Panel panel_of(std::size_t points, const std::vector<std::pair<std::size_t, double>>& others = {}) {
    Curve curve;
    for (std::size_t i = 0; i < points; ++i) {
        const double value = 1 + static_cast<double>(i) / static_cast<double>(points - 1);
        curve.push_back({static_cast<double>(i), value, value, value});
    }
    for (const auto& [at, value] : others) {
        curve[at].mean = curve[at].low = curve[at].high = value;
    }
    Panel panel;
    panel.lines.push_back({0, curve});
    return panel;
}

TEST(ValueRange, HasAllMeansAndDots) {
    auto panel = panel_of(100, {{50, 90}});
    panel.dots.push_back({0, 3, 0.5});
    const auto range = range_of(panel);
    EXPECT_EQ(range.low, 0.5);
    EXPECT_EQ(range.high, 90);
    EXPECT_TRUE(range_of({}).is_empty());
}

TEST(ValueRange, HasTheSpreadOfNearlyAllPoints) {
    auto panel = panel_of(1000);
    auto& curve = panel.lines.front().curve;
    for (auto& point : curve) {
        point.low = 0.5;
        point.high = 2.5;
    }
    curve[500].high = 100;
    EXPECT_EQ(range_of(panel).low, 0.5);
    EXPECT_EQ(range_of(panel).high, 2.5);
    panel.is_stacked = true;
    EXPECT_EQ(range_of(panel).high, 2) << "that of one lane is no height of the stack";
}

TEST(ValueRange, LeavesOutShortPeaks) {
    const auto high_without_peaks = [](const Panel& panel) { return range_without_peaks(panel).high; };
    EXPECT_LT(high_without_peaks(panel_of(200, {{50, 90}, {51, 80}})), 2.01);
    EXPECT_EQ(high_without_peaks(panel_of(200, {{50, 2.5}})), 2.5) << "a low one";
    EXPECT_EQ(high_without_peaks(panel_of(30, {{15, 90}})), 90) << "few points";
    EXPECT_EQ(high_without_peaks(panel_of(200, {{0, 90}})), 90) << "the begin of a training";
    EXPECT_EQ(high_without_peaks(panel_of(200, {{199, 90}})), 90) << "its end";
    EXPECT_EQ(high_without_peaks(panel_of(200, {{95, 90}, {96, 90}, {97, 90}, {98, 90}, {99, 90}})), 90)
        << "a range of steps";
    EXPECT_TRUE(range_without_peaks({}).is_empty());
}

}  // namespace
}  // namespace ziggurat::plot
