#include "train/control/stall_detector.hpp"

#include <gtest/gtest.h>

namespace ziggurat::train {
namespace {

using Advice = StallDetector::Advice;

constexpr std::int64_t second = 1'000'000'000;

/// Calls the detector each second from `begin` to `end`, in seconds. Returns its last advice.
Advice check_now(StallDetector& detector, std::int64_t count, int begin, int end) {
    for (int at = begin; at < end; ++at) {
        EXPECT_EQ(detector.update(count, at * second), Advice::none) << at;
    }
    return detector.update(count, end * second);
}

TEST(StallDetector, WarnsOncePerPatienceAndThenGivesUp) {
    StallDetector stall_detector{10};
    EXPECT_EQ(check_now(stall_detector, 5, 100, 110), Advice::warn);
    EXPECT_DOUBLE_EQ(stall_detector.seconds(), 10);
    EXPECT_EQ(check_now(stall_detector, 5, 111, 120), Advice::warn);
    EXPECT_EQ(check_now(stall_detector, 5, 121, 130), Advice::abort);
}

TEST(StallDetector, BeginsAgainWhenSomethingMoves) {
    StallDetector stall_detector{10};
    EXPECT_EQ(check_now(stall_detector, 5, 100, 110), Advice::warn);
    EXPECT_EQ(check_now(stall_detector, 6, 111, 120), Advice::none);
    EXPECT_EQ(check_now(stall_detector, 6, 121, 121), Advice::warn);
}

TEST(StallDetector, DoesNotCountTimeInWhichNobodyLooked) {
    StallDetector stall_detector{10};
    EXPECT_EQ(check_now(stall_detector, 5, 100, 105), Advice::none);
    EXPECT_EQ(check_now(stall_detector, 5, 3705, 3709), Advice::none) << "an hour of Ctrl-Z";
    EXPECT_EQ(check_now(stall_detector, 5, 3710, 3710), Advice::warn);
}

}  // namespace
}  // namespace ziggurat::train
