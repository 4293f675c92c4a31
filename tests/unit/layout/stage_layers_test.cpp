#include "layout/stage_layers.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "layout/counts.hpp"

namespace ziggurat::layout {
namespace {

using Counts = std::vector<std::int64_t>;

Counts identical(std::int64_t layers, std::int64_t cost = 10) {
    return Counts(static_cast<std::size_t>(layers), cost);
}

/// Returns the cost of the most expensive stage.
std::int64_t max(const Counts& layers, std::int64_t head, const Counts& counts) {
    std::int64_t worst = 0;
    auto next = layers.begin();
    for (std::size_t stage = 0; stage < counts.size(); ++stage) {
        const auto end = next + counts[stage];
        worst =
            std::max(worst, std::accumulate(next, end, stage + 1 == counts.size() ? head : std::int64_t{0}));
        next = end;
    }
    return worst;
}

/// Returns the minimum cost over all distributions, by trying all of them.
std::int64_t min_by_trial(const Counts& layers, std::int64_t head, int stages) {
    if (stages == 1) {
        return std::accumulate(layers.begin(), layers.end(), head);
    }
    auto min = std::numeric_limits<std::int64_t>::max();
    std::int64_t first = 0;
    for (std::size_t n = 1; n + static_cast<std::size_t>(stages) <= layers.size() + 1; ++n) {
        first += layers[n - 1];
        const Counts rest(layers.begin() + static_cast<std::ptrdiff_t>(n), layers.end());
        min = std::min(min, std::max(first, min_by_trial(rest, head, stages - 1)));
    }
    return min;
}

TEST(StageLayers, AreEvenWhereNothingElseCosts) {
    EXPECT_EQ(spread_layers(identical(6), 0, 3), (Counts{2, 2, 2}));
    EXPECT_EQ(spread_layers(identical(5), 0, 3), (Counts{2, 2, 1}));
    EXPECT_EQ(spread_layers(identical(7), 0, 3), (Counts{2, 3, 2}));
    EXPECT_EQ(spread_layers(identical(3), 0, 3), (Counts{1, 1, 1}));
    EXPECT_EQ(spread_layers_over_chunks(identical(6), 0, 2, 2), (Counts{2, 2, 1, 1}));
}

TEST(StageLayers, LeaveTheHeadItsRoom) {
    EXPECT_EQ(spread_layers(identical(12), 54, 2), (Counts{9, 3}));
    EXPECT_EQ(spread_layers(identical(4), 1000, 3), (Counts{2, 1, 1}));
    // Stages of 8 and 4 layers; the last chunk has one layer besides the head.
    EXPECT_EQ(spread_layers_over_chunks(identical(12), 40, 2, 2), (Counts{4, 3, 4, 1}));
}

TEST(StageLayers, HaveTheLeastMostExpensiveStageOfAll) {
    for (std::uint32_t seed = 1; seed <= 60; ++seed) {
        Counts layers;
        std::uint32_t state = seed;
        for (std::uint32_t i = 0; i < 4 + seed % 5; ++i) {
            state = state * 1664525 + 1013904223;
            layers.push_back(1 + state / 65536 % 30);
        }
        const std::int64_t head = seed % 3 * 17;
        for (int stages = 1; stages <= 4; ++stages) {
            const auto counts = spread_layers(layers, head, stages);

            ASSERT_EQ(std::ssize(counts), stages);
            EXPECT_GE(*std::min_element(counts.begin(), counts.end()), 1);
            EXPECT_EQ(std::accumulate(counts.begin(), counts.end(), std::int64_t{0}), std::ssize(layers));
            EXPECT_EQ(max(layers, head, counts), min_by_trial(layers, head, stages)) << "seed " << seed;
        }
    }
}

/// Returns GPT-2 of 124 million parameters with sequences of 1024 tokens.
spec::RunSpec gpt2(int stages) {
    spec::RunSpec run;
    run.model.family = "gpt2";
    run.model.layers = 12;
    run.model.hidden = 768;
    run.model.heads = run.model.kv_heads = 12;
    run.model.head_dim = 64;
    run.model.ffn_hidden = 3072;
    run.model.vocab = 50257;
    run.model.vocab_padded = 50304;
    run.model.max_seq = run.data.seq = 1024;
    run.parallel.stages = run.parallel.ranks = stages;
    return run;
}

TEST(StageLayers, BalanceTheModelThatEvenLayersDoNot) {
    const auto run = gpt2(2);
    const auto flops = flops_per_token_by_unit(run);
    const auto balance = [&](std::int64_t first) {
        const double all = flops_per_token(run);
        const double before = static_cast<double>(first) * flops[1];
        return all / 2 / std::max(before, all - before);
    };

    EXPECT_NEAR(balance(6), 0.77, 0.01);
    EXPECT_GE(balance(stage_layers(run).front()), 0.93);
}

TEST(StageLayers, CountFrozenLayersBelowAllThatIsTrainedForForwardAlone) {
    auto run = gpt2(2);
    run.model.vocab = run.model.vocab_padded = 64;
    const auto trained = stage_layers(run);
    run.train.only = {"layers.10.*", "layers.11.*", "head.*", "final_norm.*"};

    EXPECT_EQ(trained, (Counts{6, 6}));
    EXPECT_EQ(stage_layers(run), (Counts{8, 4}));
}

TEST(StageLayers, AreThoseThatTheRunNames) {
    auto run = gpt2(3);
    run.parallel.stage_layers = {1, 1, 10};

    EXPECT_EQ(stage_layers(run), (Counts{1, 1, 10}));
}

}  // namespace
}  // namespace ziggurat::layout
