#include "train/control/stall_detector.hpp"

#include <gtest/gtest.h>

namespace ziggurat::train {
namespace {

using News = StallDetector::News;

constexpr std::int64_t second = 1'000'000'000;

/// Calls the detector each second from `begin` to `end`, in seconds. Returns its last advice.
News look(StallDetector& detector, std::int64_t count, int begin, int end) {
    for (int at = begin; at < end; ++at) {
        EXPECT_EQ(detector.see(count, at * second), News::none) << at;
    }
    return detector.see(count, end * second);
}

TEST(StallDetector, WarnsOncePerPatienceAndThenGivesUp) {
    StallDetector stall_detector{10};
    EXPECT_EQ(look(stall_detector, 5, 100, 110), News::warn);
    EXPECT_DOUBLE_EQ(stall_detector.seconds(), 10);
    EXPECT_EQ(look(stall_detector, 5, 111, 120), News::warn);
    EXPECT_EQ(look(stall_detector, 5, 121, 130), News::give_up);
}

TEST(StallDetector, BeginsAgainWhenSomethingMoves) {
    StallDetector stall_detector{10};
    EXPECT_EQ(look(stall_detector, 5, 100, 110), News::warn);
    EXPECT_EQ(look(stall_detector, 6, 111, 120), News::none);
    EXPECT_EQ(look(stall_detector, 6, 121, 121), News::warn);
}

TEST(StallDetector, DoesNotCountTimeInWhichNobodyLooked) {
    StallDetector stall_detector{10};
    EXPECT_EQ(look(stall_detector, 5, 100, 105), News::none);
    EXPECT_EQ(look(stall_detector, 5, 3705, 3709), News::none) << "an hour of Ctrl-Z";
    EXPECT_EQ(look(stall_detector, 5, 3710, 3710), News::warn);
}

}  // namespace
}  // namespace ziggurat::train
