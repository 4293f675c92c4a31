#include "train/step_line.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/support/counted_allocations.hpp"

namespace ziggurat::train {
namespace {

StepReport report_of(std::int64_t step, double seconds = 0.5) {
    StepReport report{.step = step,
                      .tokens = step * 1024,
                      .loss = 2,
                      .lr = 2.61e-4,
                      .grad_norm = 0.41,
                      .step_s = seconds,
                      .tok_s = 1024 / seconds,
                      .compute_s = seconds};
    report.device_peak_bytes = 61LL << 30;
    return report;
}

TEST(StepLine, SaysWhatTheLastStepsDid) {
    StepLine lines{500};
    StepReport report = report_of(9);
    report.loss = 2.5;
    report.stall(Stall::data) = 0.001;
    report.stall(Stall::collective) = 0.045;
    lines.add(report);
    report.step = 10;
    report.loss = 1.5;
    lines.add(report);

    EXPECT_EQ(lines.line(),
              "step  10/500 | loss   2.0000 | lr 2.61e-04 | norm     0.41 |   500 ms |   2.05k tok/s | "
              "stall coll 9.0 data 0.2% "
              "| mem 61G | eta 4min05s");
}

TEST(StepLine, SetsWhatTiersHoldBesideTheirBudgets) {
    StepLine lines{500, {74LL << 30, 600LL << 30, 2048LL << 30}};
    StepReport report = report_of(9);
    lines.add(report);
    EXPECT_NE(lines.line().find("| mem 61/74G | eta"), std::string_view::npos) << lines.line();
    report.host_peak_bytes = 5LL << 20;
    lines.add(report);
    EXPECT_NE(std::string{lines.line()}.find("| dev 61/74G host 5.0M/600G | eta"), std::string::npos);
    report.nvme_bytes = 1104LL << 30;
    lines.add(report);
    EXPECT_NE(std::string{lines.line()}.find("| dev 61/74G host 5.0M/600G nvme 1.1/2.0T | eta"),
              std::string::npos);
}

TEST(StepLine, StartsAnewAfterEachLine) {
    StepLine lines{500};
    lines.add(report_of(1));
    lines.line();
    StepReport report = report_of(2, 1.0);
    report.loss = 1.25;
    lines.add(report);

    const std::string line{lines.line()};
    EXPECT_NE(line.find("loss   1.2500"), std::string::npos) << line;
    EXPECT_NE(line.find("|   1.00 s |   1.02k tok/s |"), std::string::npos) << line;
    EXPECT_NE(line.find("| stall 0% |"), std::string::npos) << line;
}

TEST(StepLine, StaysWithin160ColumnsWhateverHappens) {
    StepLine lines{999999, {1023LL << 30, 1023LL << 30, 1023LL << 30}};
    StepReport report = report_of(999999, 1e-7);
    for (const double value : {123456789.123, 1e99, std::numeric_limits<double>::infinity(), std::nan("")}) {
        report.loss = value;
        report.grad_norm = value;
        report.lr = value;
        report.step_s = 35999;
        report.tok_s = 999.9e9;
        report.stall(Stall::nvme_read) = report.step_s * 0.495;
        report.stall(Stall::nvme_write) = report.step_s * 0.494;
        report.device_peak_bytes = 1023LL << 30;
        report.host_peak_bytes = 1023LL << 30;
        report.nvme_bytes = 1023LL << 30;
        lines.add(report);
        EXPECT_LE(lines.live().size(), 160U);
        const std::string line{lines.line()};
        EXPECT_LE(line.size(), 160U) << line;
        EXPECT_TRUE(line.starts_with("step 999999/999999 | loss")) << line;
    }
}

TEST(StepLine, HeadsEveryFiftyLines) {
    StepLine lines{500};
    int headings = 0;
    for (int step = 1; step <= 101; ++step) {
        headings += lines.heading().has_value() ? 1 : 0;
        lines.add(report_of(step));
        lines.line();
    }
    EXPECT_EQ(headings, 3);
}

TEST(StepLine, HeadingDoesNotLookLikeAStep) {
    StepLine lines{500};
    const std::string heading{lines.heading().value()};
    EXPECT_FALSE(heading.starts_with("step"));
    EXPECT_LE(heading.size(), 160U);
}

TEST(StepLine, ColumnsOfHeadingAndLineAreTheSame) {
    StepLine lines{500};
    const std::string heading{lines.heading().value()};
    lines.add(report_of(7));
    const std::string line{lines.line()};
    std::size_t bar = 0;
    for (int column = 0; column < 6; ++column) {
        bar = heading.find('|', bar + 1);
        EXPECT_EQ(line[bar], '|') << heading << '\n' << line;
    }
}

TEST(StepLine, ForgetsTheSlowFirstStepsInItsForecast) {
    StepLine lines{100};
    lines.add(report_of(1, 60));
    lines.add(report_of(2, 30));
    lines.add(report_of(3, 0.5));
    lines.add(report_of(4, 0.5));

    EXPECT_DOUBLE_EQ(lines.seconds_per_step(), 0.5);
}

TEST(StepLine, DoesNotAllocate) {
    StepLine lines{500};
    const test::CountedAllocations counted;
    for (int step = 1; step <= 100; ++step) {
        lines.add(report_of(step));
        lines.live();
        lines.heading();
        lines.line();
    }
    EXPECT_EQ(counted.allocations(), 0);
}

TEST(SkippedLine, NamesTheStepAndTheReason) {
    StepReport report = report_of(1251);
    report.is_skipped = true;
    report.skipped = 3;
    report.grad_norm = std::numeric_limits<double>::infinity();
    EXPECT_EQ(skipped_line(report),
              "step 1251 SKIPPED: the gradient is not finite, so the weights stay as they are (loss 2, norm "
              "inf; 3 skipped so "
              "far)");
    report.loss = std::nan("");
    EXPECT_NE(skipped_line(report).find("the loss is not finite"), std::string::npos);
}

TEST(ValidationLine, GivesNatsAndBits) {
    EXPECT_EQ(
        validation_line(
            {.step = 100, .tokens = 1, .loss = std::log(4.0), .loss_tokens = 131072, .seconds = 1.23}, 500),
        "validate 100/500 | loss 1.3863 nats/token (2.0000 bits) | 131,072 tokens | 1.23 s");
}

TEST(SampleBlock, IsSafeToShow) {
    EXPECT_EQ(sample_block(100, "In the", " beginning\nGod\x1b[2J", 0.8),
              "sample after step 100, prompt \"In the\", temperature 0.8:\n  | In the beginning\n  | "
              "God\\x1b[2J\n");
}

}  // namespace
}  // namespace ziggurat::train
