#include "train/control/stall_detector.hpp"

#include <gtest/gtest.h>

namespace ziggurat::train {
namespace {

using News = StallDetector::News;

constexpr std::int64_t second = 1'000'000'000;

TEST(StallDetector, WarnsOncePerPatienceAndThenGivesUp) {
    StallDetector stall_detector{10};
    EXPECT_EQ(stall_detector.see(5, 100 * second), News::none);
    EXPECT_EQ(stall_detector.see(5, 109 * second), News::none);
    EXPECT_EQ(stall_detector.see(5, 110 * second), News::warn);
    EXPECT_DOUBLE_EQ(stall_detector.seconds(), 10);
    EXPECT_EQ(stall_detector.see(5, 111 * second), News::none);
    EXPECT_EQ(stall_detector.see(5, 120 * second), News::warn);
    EXPECT_EQ(stall_detector.see(5, 130 * second), News::give_up);
}

TEST(StallDetector, BeginsAgainWhenSomethingMoves) {
    StallDetector stall_detector{10};
    stall_detector.see(5, 100 * second);
    EXPECT_EQ(stall_detector.see(5, 115 * second), News::warn);
    EXPECT_EQ(stall_detector.see(6, 129 * second), News::none);
    EXPECT_EQ(stall_detector.see(6, 138 * second), News::none);
    EXPECT_EQ(stall_detector.see(6, 139 * second), News::warn);
}

}  // namespace
}  // namespace ziggurat::train
