#include "plot/axis.hpp"

#include <gtest/gtest.h>

namespace ziggurat::plot {
namespace {

std::string joined(const std::vector<Tick>& ticks) {
    std::string text;
    for (const auto& tick : ticks) {
        text += (text.empty() ? "" : " ") + tick.text;
    }
    return text;
}

TEST(Axis, PutsValuesWhereTheyBelong) {
    const FigureAxis linear{10, 20, false};
    EXPECT_DOUBLE_EQ(linear.position_of(10), 0);
    EXPECT_DOUBLE_EQ(linear.position_of(12.5), 0.25);
    EXPECT_DOUBLE_EQ(linear.position_of(20), 1);
    const FigureAxis logarithmic{1, 1000, true};
    EXPECT_DOUBLE_EQ(logarithmic.position_of(1), 0);
    EXPECT_NEAR(logarithmic.position_of(10), 1.0 / 3, 1e-12);
    EXPECT_LT(logarithmic.position_of(0), -1);
}

TEST(Axis, TicksAreRound) {
    EXPECT_EQ(joined(FigureAxis{0, 3000, false}.ticks(6)), "0 500 1000 1500 2000 2500 3000");
    EXPECT_EQ(joined(FigureAxis{0, 1e6, false}.ticks(5)), "0 0.2M 0.4M 0.6M 0.8M 1M");
    EXPECT_EQ(joined(FigureAxis{1.13, 1.49, false}.ticks(4)), "1.2 1.3 1.4");
    EXPECT_EQ(joined(FigureAxis{0, 54321, false}.ticks(3)), "0 20k 40k");
    EXPECT_EQ(joined(FigureAxis{0.9, 12, true}.ticks(6)), "1 2 5 10");
    EXPECT_EQ(joined(FigureAxis{1, 1e12, true}.ticks(4)), "1 1000 1M 1G 1T");
}

TEST(Axis, TicksSuitLearningRates) {
    EXPECT_EQ(joined(FigureAxis{0, 3.15e-4, false}.ticks(4)), "0 1e-4 2e-4 3e-4");
    EXPECT_EQ(joined(FigureAxis{0, 2.1e-4, false}.ticks(5)), "0 5e-5 1e-4 1.5e-4 2e-4");
    EXPECT_EQ(joined(FigureAxis{1e-6, 1e-3, true}.ticks(4)), "1e-6 1e-5 1e-4 1e-3");
    EXPECT_EQ(joined(FigureAxis{0, 0.0105, false}.ticks(5)), "0 0.005 0.01");
}

TEST(Axis, TicksOfAShortLogarithmicAxisAreNotFew) {
    EXPECT_EQ(joined(FigureAxis{2.2, 11, true}.ticks(7)), "3 4 5 6 8 10");
    EXPECT_EQ(joined(FigureAxis{5.1, 5.5, true}.ticks(4)), "5.1 5.2 5.3 5.4 5.5");
}

TEST(Axis, TicksOfALogarithmicAxisAreNotCloseTogether) {
    EXPECT_EQ(joined(FigureAxis{2.4e-6, 4e-4, true}.ticks(4)), "3e-6 1e-5 3e-5 1e-4 3e-4");
    EXPECT_EQ(joined(FigureAxis{0.4, 28, true}.ticks(5)), "0.5 1 2 5 10 20");
}

TEST(Axis, OfOneValueHasRoomAroundIt) {
    EXPECT_EQ(joined(log_axis_around(3e-4, 3e-4).ticks(4)), "2.8e-4 3e-4 3.2e-4");
}

TEST(Axis, TicksAreWholeIfAsked) {
    EXPECT_EQ(joined(FigureAxis{1, 3, false, true}.ticks(8)), "1 2 3");
    EXPECT_EQ(joined(FigureAxis{0.5, 1.5, false, true}.ticks(8)), "1");
}

TEST(Axis, AreLogarithmicWhereValuesAreFarApart) {
    EXPECT_TRUE(axis_around(1, 11).is_log);
    EXPECT_FALSE(axis_around(3, 11).is_log);
    EXPECT_FALSE(axis_around(-1, 11).is_log);
    for (const auto& axis :
         {axis_around(2, 2), axis_around(0, 0), axis_from_zero(0), axis_around(1, 1e300)}) {
        EXPECT_LT(axis.low, axis.high);
        EXPECT_FALSE(axis.ticks(5).empty());
    }
}

}  // namespace
}  // namespace ziggurat::plot
