#include "train/step/op_times.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace ziggurat::train {
namespace {

constexpr std::size_t num_ops = 3;

/// Times written by one rank, and read by another one through its own view.
class OpTimesTest : public ::testing::Test {
  protected:
    std::vector<std::uint64_t> memory_ =
        std::vector<std::uint64_t>(static_cast<std::size_t>(OpTimes::bytes_for(num_ops)) / 8);
    OpTimes mine_{reinterpret_cast<std::byte*>(memory_.data()), num_ops};
    OpTimes seen_{reinterpret_cast<std::byte*>(memory_.data()), num_ops};
};

TEST_F(OpTimesTest, ShowsWhatHasBegunBeforeItEnds) {
    EXPECT_FALSE(seen_.of(1, 0));

    mine_.began(1, {.step = 0, .begin_ns = 10, .ready_ns = 7, .after = 2});

    const auto begun = seen_.of(1, 0);
    ASSERT_TRUE(begun);
    EXPECT_EQ(begun->begin_ns, 10);
    EXPECT_EQ(begun->end_ns, 0);
    EXPECT_EQ(begun->ready_ns, 7);
    EXPECT_EQ(begun->after, 2);
    EXPECT_FALSE(seen_.latest(1, 100)) << "it is not done";
    EXPECT_FALSE(seen_.of(0, 0));

    mine_.ended(1, 0, 20);

    EXPECT_EQ(seen_.of(1, 0)->end_ns, 20);
    EXPECT_EQ(seen_.latest(1, 100)->step, 0);
    EXPECT_FALSE(seen_.latest(1, 9)) << "it had not begun";
}

TEST_F(OpTimesTest, KeepsTheLastStepsApart) {
    for (std::int64_t step = 0; step < 8; ++step) {
        mine_.began(0, {.step = step, .begin_ns = 100 * step});
        mine_.ended(0, step, 100 * step + 50);
    }
    for (std::int64_t step = 8 - OpTimes::steps_kept; step < 8; ++step) {
        ASSERT_TRUE(seen_.of(0, step));
        EXPECT_EQ(seen_.of(0, step)->begin_ns, 100 * step);
        EXPECT_EQ(seen_.latest(0, 100 * step + 99)->step, step);
    }
    EXPECT_FALSE(seen_.of(0, 7 - OpTimes::steps_kept)) << "its place is another step's now";
    EXPECT_FALSE(seen_.of(0, 8));
}

TEST_F(OpTimesTest, FindsWorkByTime) {
    for (std::int64_t i = 0; i < 1000; ++i) {
        mine_.was_busy({static_cast<int>(i % 3), 10'000 * i, 10'000 * i + 4'000});
    }
    mine_.was_busy({0, 9'994'100, 10'008'000});  // continues
    mine_.was_busy({1, 10'008'100, 10'009'000});

    const auto first = seen_.first_work_after(9'974'000);
    EXPECT_EQ(first, 998) << "the one that ends then is over";
    EXPECT_EQ(seen_.work(first)->begin_ns, 9'980'000);
    EXPECT_EQ(seen_.work(first + 1)->end_ns, 10'008'000);
    EXPECT_EQ(seen_.work(first + 2)->op, 1) << "another op is another work";
    EXPECT_FALSE(seen_.work(first + 3));
    EXPECT_FALSE(seen_.work(seen_.first_work_after(10'009'000)));
}

}  // namespace
}  // namespace ziggurat::train
