#include "base/clock.hpp"

#include <gtest/gtest.h>

namespace ziggurat {
namespace {

TEST(Clock, NeverGoesBack) {
    const std::int64_t first = monotonic_ns();
    EXPECT_GE(monotonic_ns(), first);
    EXPECT_DOUBLE_EQ(seconds_between(1'000'000'000, 2'500'000'000), 1.5);
}

TEST(FormatCalendar, IsUtc) {
    EXPECT_EQ(format_calendar(1755940442.12), "2025-08-23 09:14:02 UTC");
    EXPECT_GT(calendar_seconds(), 1.7e9);
}

}  // namespace
}  // namespace ziggurat
