#include "base/progress.hpp"

#include <gtest/gtest.h>

namespace ziggurat {
namespace {

constexpr std::int64_t second = 1'000'000'000;

/// Last line of a terminal.
struct Bottom {
    ProgressLine::Show show() {
        return [this](std::string_view line) {
            text = line;
            ++times;
        };
    }
    std::string text = "nothing yet";
    int times = 0;
};

TEST(ProgressLine, IsSilentForTwoSeconds) {
    Bottom bottom;
    ProgressLine line{bottom.show(), 10 * second};
    line.begin("plans", 10 * second);

    line.refresh(12 * second - 1);
    EXPECT_EQ(bottom.times, 0);
    line.refresh(12 * second);
    EXPECT_EQ(bottom.text, "plans, 2 s");
}

TEST(ProgressLine, MovesWithTheTime) {
    Bottom bottom;
    ProgressLine line{bottom.show(), 0};
    line.begin("loads the checkpoint", 5 * second);

    line.refresh(8 * second);
    EXPECT_EQ(bottom.text, "loads the checkpoint, 3 s");
    line.refresh(9 * second);
    EXPECT_EQ(bottom.text, "loads the checkpoint, 4 s");
}

TEST(ProgressLine, CountsWhatIsDone) {
    Bottom bottom;
    ProgressLine line{bottom.show(), 0};
    line.begin("plans", 0, "operations");
    line.advance(120'000);
    line.advance(3'456);

    line.refresh(4 * second);
    EXPECT_EQ(bottom.text, "plans: 123,456 operations, 4 s");
}

TEST(ProgressLine, SaysHowLongItTakesStill) {
    Bottom bottom;
    ProgressLine line{bottom.show(), 0};
    line.begin("evaluates", 0, "batches", 400);
    line.advance(100);

    line.refresh(10 * second);
    EXPECT_EQ(bottom.text, "evaluates: 100 of 400 batches (25 %), 30.0 s left");
}

TEST(ProgressLine, SaysBytesWithTheirUnits) {
    Bottom bottom;
    ProgressLine line{bottom.show(), 0};
    line.begin("loads the checkpoint", 0, "bytes");
    line.is_at(std::int64_t{1} << 30, std::int64_t{4} << 30);

    line.refresh(10 * second);
    EXPECT_EQ(bottom.text, "loads the checkpoint: 1.00 GiB of 4.00 GiB (25 %), 30.0 s left");
}

TEST(ProgressLine, GoesAtTheEndAndOnlyIfItWasThere) {
    Bottom bottom;
    ProgressLine line{bottom.show(), 0};
    line.begin("plans", 0);
    line.end();
    EXPECT_EQ(bottom.times, 0);

    line.begin("plans", 0);
    line.refresh(3 * second);
    line.end();
    EXPECT_EQ(bottom.text, "");
    line.refresh(4 * second);
    EXPECT_EQ(bottom.times, 2) << "nothing goes on any more";
}

TEST(Progress, WithoutAWatcherDoesNothing) {
    Progress progress{{}};
    progress.begin("plans", "operations");
    progress.advance(1);
    progress.end();
}

}  // namespace
}  // namespace ziggurat
