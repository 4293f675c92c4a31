#include "train/control/stillness.hpp"

#include <gtest/gtest.h>

namespace ziggurat::train {
namespace {

using News = Stillness::News;

constexpr std::int64_t second = 1'000'000'000;

TEST(Stillness, WarnsOncePerPatienceAndThenGivesUp) {
    Stillness stillness{10};
    EXPECT_EQ(stillness.see(5, 100 * second), News::none);
    EXPECT_EQ(stillness.see(5, 109 * second), News::none);
    EXPECT_EQ(stillness.see(5, 110 * second), News::warn);
    EXPECT_DOUBLE_EQ(stillness.seconds(), 10);
    EXPECT_EQ(stillness.see(5, 111 * second), News::none);
    EXPECT_EQ(stillness.see(5, 120 * second), News::warn);
    EXPECT_EQ(stillness.see(5, 130 * second), News::give_up);
}

TEST(Stillness, BeginsAgainWhenSomethingMoves) {
    Stillness stillness{10};
    stillness.see(5, 100 * second);
    EXPECT_EQ(stillness.see(5, 115 * second), News::warn);
    EXPECT_EQ(stillness.see(6, 129 * second), News::none);
    EXPECT_EQ(stillness.see(6, 138 * second), News::none);
    EXPECT_EQ(stillness.see(6, 139 * second), News::warn);
}

}  // namespace
}  // namespace ziggurat::train
