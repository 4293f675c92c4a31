#include "train/control/skip_limit.hpp"

#include <gtest/gtest.h>

#include <string>

namespace ziggurat::train {
namespace {

std::string problem_at_end(const SkipLimit& skips, std::int64_t step) {
    try {
        skips.check_end(step);
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::numerics);
        return error.what();
    }
    return "";
}

TEST(SkipLimit, CountsOverAStopAndARestart) {
    SkipLimit before{3, 0};
    for (int step = 0; step < 15; ++step) {
        before.note(true);
    }
    SkipLimit after{before.skipped(), before.in_a_row()};
    EXPECT_EQ(after.skipped(), 18);
    for (int step = 0; step < 5; ++step) {
        after.note(true);
        EXPECT_NO_THROW(after.check(100));
    }
    after.note(true);
    EXPECT_THROW(after.check(101), Error);
}

TEST(SkipLimit, BeginsAnewWithAnUpdate) {
    SkipLimit skips{20, 20};
    skips.note(false);
    EXPECT_EQ(skips.in_a_row(), 0);
    EXPECT_EQ(skips.skipped(), 20);
    skips.note(true);
    EXPECT_EQ(skips.in_a_row(), 1);
    EXPECT_NO_THROW(skips.check(40));
}

TEST(SkipLimit, TheLastStepMustNotBeSkipped) {
    SkipLimit skips{2, 0};
    EXPECT_EQ(problem_at_end(skips, 10), "");
    skips.note(true);
    skips.note(true);
    const auto problem = problem_at_end(skips, 10);
    EXPECT_NE(problem.find("the last 2 updates up to step 10"), std::string::npos) << problem;
    EXPECT_NE(problem.find("a checkpoint before step 9"), std::string::npos) << problem;
}

}  // namespace
}  // namespace ziggurat::train
