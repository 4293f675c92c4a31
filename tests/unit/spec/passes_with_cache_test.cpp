#include "spec/passes_with_cache.hpp"

#include <gtest/gtest.h>

namespace ziggurat::spec {
namespace {

RunSpec run_of(std::int64_t seq, std::int64_t micro_batch) {
    RunSpec run;
    run.data.seq = seq;
    run.train.micro_batch = micro_batch;
    return run;
}

TEST(PassesWithCache, HoldNoMoreThanTheText) {
    const auto passes = passes_of_texts(run_of(4096, 1), 30, 100);
    EXPECT_EQ(passes.positions, 130);
    EXPECT_EQ(passes.prompt_rows, 30);
    EXPECT_EQ(passes.logit_rows, 1);
    EXPECT_EQ(passes.sequences, 1);
}

TEST(PassesWithCache, HoldASequenceOfATextThatIsLonger) {
    const auto passes = passes_of_texts(run_of(100, 8), 30, 71);
    EXPECT_EQ(passes.positions, 100);
    EXPECT_EQ(passes.prompt_rows, 100) << "it reads a half again";
    EXPECT_EQ(passes_of_texts(run_of(4096, 8), 5000, 10).prompt_rows, 512);
}

TEST(PassesWithCache, OfSeveralTextsHoldTheirPromptToo) {
    const auto run = run_of(4096, 1);
    EXPECT_EQ(passes_of_texts(run, 30, 100, 3).sequences, 4);
    EXPECT_EQ(passes_of_texts(run, 30, 100, 3).logit_rows, 3);
    EXPECT_EQ(passes_of_texts(run, 30, 100, 80).sequences, max_texts_at_once + 1);
    EXPECT_EQ(passes_of_texts(run, 30, 100, 80).logit_rows, max_texts_at_once);
}

/// Products of few rows have other bits on the host; on a GPU each number of rows does.
TEST(PassesWithCache, OfOneTextHaveTheBitsOfThoseOfMany) {
    auto run = run_of(4096, 1);
    EXPECT_GT(passes_of_texts(run, 3, 100).prompt_rows, max_texts_at_once);
    EXPECT_EQ(passes_of_texts(run, 3, 100).logit_rows, 1);
    run.tiers.device = DeviceKind::cuda;
    const auto one = passes_of_texts(run, 3, 100), many = passes_of_texts(run, 300, 100, 80);
    EXPECT_EQ(one.prompt_rows, many.prompt_rows);
    EXPECT_EQ(one.logit_rows, many.logit_rows);
}

TEST(PassesWithCache, AreThoseOfSamplesOrOfInference) {
    auto run = run_of(4096, 1);
    EXPECT_EQ(cached_passes(run).sequences, 0);
    EXPECT_FALSE(has_only_cached_passes(run));
    run.validate.sample = Sample{.prompt = "eight by", .tokens = 20};
    EXPECT_EQ(cached_passes(run).positions, 8 + 2 + 20);
    run.validate.sample->is_chat = true;
    EXPECT_EQ(cached_passes(run).positions, 4096) << "a template may render a text of any length";
    EXPECT_FALSE(has_only_cached_passes(run));
    run.cached = passes_of_texts(run, 3, 4);
    EXPECT_EQ(cached_passes(run), run.cached);
    EXPECT_TRUE(has_only_cached_passes(run));
}

}  // namespace
}  // namespace ziggurat::spec
