#include "train/report/event_lines.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/text/text_width.hpp"
#include "train/report/checkpoint_line.hpp"

namespace ziggurat::train {
namespace {

TEST(SkippedLine, NamesTheStepAndTheReason) {
    StepReport report{.step = 1251, .loss = 2};
    report.skipped = 3;
    report.grad_norm = std::numeric_limits<double>::infinity();
    EXPECT_EQ(skipped_line(report),
              "step 1251 SKIPPED: the gradient is not finite, so the weights are unchanged (loss 2, norm "
              "inf; 3 skipped so far)");
    report.loss = std::nan("");
    EXPECT_NE(skipped_line(report).find("the loss is not finite"), std::string::npos);
}

TEST(EpochLine, NamesTheSourceAndTheStep) {
    EXPECT_EQ("epoch 3 of 'web' begins in step 31", epoch_line(31, {.source = "web", .epoch = 3}));
    EXPECT_EQ("epoch 3 of a source begins in step 31",
              epoch_line(31, {.source = std::string(60, 'x'), .epoch = 3}, 60));
}

TEST(EpochLine, IsPrintedLessOftenForLaterEpochs) {
    std::vector<std::int64_t> printed;
    for (std::int64_t epoch = 2; epoch <= 300; ++epoch) {
        if (is_epoch_printed(epoch)) {
            printed.push_back(epoch);
        }
    }
    EXPECT_EQ((std::vector<std::int64_t>{2,  3,  4,  5,  6,  7,  8,  9,   10,  20,
                                         30, 40, 50, 60, 70, 80, 90, 100, 200, 300}),
              printed);
}

TEST(SpikeLine, TellsTheValuesAndWhatIsDone) {
    StepReport report;
    report.step = 31;
    report.loss = 10.25;
    report.grad_norm = 15.9;
    report.loss_z = 110.94;
    report.grad_norm_z = 8.5;
    const std::string values = "step 31 SPIKE: loss 10.25 (z 110.9), norm 15.9 (z 8.5)";
    EXPECT_EQ(spike_line(report), values + "; its update is applied (train.spikes.action: warn)");
    report.is_skipped = true;
    report.skipped = 2;
    EXPECT_EQ(spike_line(report), values + "; its update is skipped (2 skipped so far)");
    EXPECT_EQ(spike_line(report, 60), values);
    EXPECT_EQ(spike_line(report, 20), "step 31 SPIKE");
}

TEST(SkippedLine, ShowsAsMuchAsFits) {
    StepReport report{.step = 1251, .loss = std::nan("")};
    report.skipped = 3;
    report.grad_norm = std::nan("");
    EXPECT_EQ(skipped_line(report, 80),
              "step 1251 SKIPPED: the loss is not finite (loss nan, norm nan; 3 skipped so far)");
    for (int columns = 20; columns <= 250; ++columns) {
        EXPECT_LE(skipped_line(report, columns).size(), columns);
    }
    EXPECT_EQ(skipped_line(report, 250), skipped_line(report));
}

ValidationReport some_validation() {
    return {.step = 100, .tokens = 1, .loss = std::log(4.0), .loss_tokens = 131072, .seconds = 1.23};
}

TEST(ValidationLine, GivesNatsAndBits) {
    EXPECT_EQ(validation_line(some_validation(), 500).plain(),
              "validate 100/500 | loss 1.3863 nats/token (2.0000 bits) | 131,072 tokens | 1.23 s");
}

TEST(ValidationLine, SaysThatThereIsNothingToForetell) {
    auto report = some_validation();
    report.loss.reset();
    report.loss_tokens = 0;
    EXPECT_EQ(validation_line(report, 500).plain(), "validate 100/500 | no target tokens");
}

TEST(ValidationLine, ShowsAsMuchAsFits) {
    EXPECT_EQ(validation_line(some_validation(), 500, 80).plain(),
              "validate 100/500 | loss 1.3863 nats/token (2.0000 bits) | 131,072 tokens");
    for (int columns = 40; columns <= 250; ++columns) {
        EXPECT_LE(validation_line(some_validation(), 500, columns).plain().size(), columns);
    }
}

TEST(ValidationLine, HasAccuracyAndMarginOfPairs) {
    auto report = some_validation();
    report.loss = 0.5;
    report.loss_tokens = 1200;
    report.rewards = RewardMeans{.chosen = 0.25, .rejected = -0.5, .accuracy = 0.625};
    EXPECT_EQ(validation_line(report, 500).plain(),
              "validate 100/500 | loss 0.5000 | accuracy 62.5%, margin 0.7500 | 1,200 pairs | 1.23 s");
}

TEST(SampleBlock, IsSafeToShow) {
    EXPECT_EQ(sample_block(100, "In the", "In the beginning\nGod\x1b[2J", 0.8),
              "sample after step 100, prompt \"In the\", temperature 0.8:\n  | In the beginning\n  | "
              "God\\x1b[2J\n");
}

TEST(SampleBlock, ShortensThePromptInItsHead) {
    const std::string prompt = "日本語のとても長い文章で始まるテキスト and so on and so forth";
    for (int columns = 60; columns <= 150; ++columns) {
        const auto block = sample_block(100, prompt, prompt + " ends", 0.8, columns);
        EXPECT_LE(text_width(block.substr(0, block.find('\n'))), columns);
        EXPECT_NE(block.find("\n  | " + prompt + " ends\n"), std::string::npos);
    }
}

TEST(CheckpointLine, ShortensThePath) {
    const CheckpointReport report{.step = 100,
                                  .bytes = 1 << 30,
                                  .seconds = 2,
                                  .is_ok = true,
                                  .where = "/a/very/long/path/to/the/folder/of/a/run/ckpt/step-000000100"};
    EXPECT_EQ(checkpoint_line(report),
              "checkpoint of step 100: 1.00 GiB in 2.00 s (0.537 GB/s), "
              "/a/very/long/path/to/the/folder/of/a/run/ckpt/step-000000100");
    EXPECT_EQ(checkpoint_line(report, 80),
              "checkpoint of step 100: 1.00 GiB in 2.00 s (0.537 GB/s), .../ckpt/step-000000100");
    EXPECT_EQ(checkpoint_line(report, 60), "checkpoint of step 100: 1.00 GiB in 2.00 s (0.537 GB/s)");
}

}  // namespace
}  // namespace ziggurat::train
