#include "layout/families/attention_window.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "layout/counts.hpp"
#include "layout/families/family.hpp"
#include "layout/stage_layers.hpp"
#include "layout/workspaces.hpp"

namespace ziggurat::layout {
namespace {

spec::RunSpec run_with(std::int64_t window, std::int64_t interval = 0) {
    spec::RunSpec run;
    auto& model = run.model;
    model.family = "mistral";
    model.layers = 6;
    model.hidden = 32;
    model.heads = 4;
    model.kv_heads = 2;
    model.head_dim = 8;
    model.ffn_hidden = 48;
    model.vocab = 61;
    model.vocab_padded = 64;
    model.window = window;
    model.full_attention_interval = interval;
    run.data.seq = model.max_seq = 40;
    return run;
}

/// Returns the mean number of keys of the queries, counted one by one.
double counted_keys(std::int64_t seq, std::int64_t window) {
    double keys = 0;
    for (std::int64_t query = 0; query < seq; ++query) {
        keys += static_cast<double>(query - std::max<std::int64_t>(0, query - window + 1) + 1);
    }
    return keys / static_cast<double>(seq);
}

TEST(AttentionWindow, HasTheMeanOfTheKeysThatQueriesSee) {
    for (const std::int64_t seq : {1, 2, 7, 64, 1000}) {
        for (const std::int64_t window : {1, 2, 3, 6, 7, 8, 63, 64, 65, 999, 1000, 5000}) {
            EXPECT_DOUBLE_EQ(mean_keys(seq, window), counted_keys(seq, window)) << seq << " " << window;
        }
        EXPECT_DOUBLE_EQ(mean_keys(seq, 0), counted_keys(seq, seq)) << "no window";
    }
}

TEST(AttentionWindow, CountsOnlyIfSequencesReachIt) {
    EXPECT_EQ(window_in_run(run_with(0), 0), 0);
    EXPECT_EQ(window_in_run(run_with(39), 0), 39);
    EXPECT_EQ(window_in_run(run_with(40), 0), 0);
    EXPECT_EQ(num_windowed_layers(run_with(39)), 6);
    EXPECT_EQ(num_windowed_layers(run_with(40, 2)), 0);
    EXPECT_FALSE(has_unequal_windows(run_with(39)));
    EXPECT_FALSE(has_unequal_windows(run_with(40, 2)));
}

TEST(AttentionWindow, LayersOfTwoThetasDifferEvenIfNoSequenceReachesTheWindow) {
    auto run = run_with(40, 2);
    EXPECT_FALSE(has_unequal_layers(run));
    run.model.window_rope_theta = 100;
    EXPECT_TRUE(has_unequal_layers(run));
    run.model.full_attention_interval = 7;
    EXPECT_FALSE(has_unequal_layers(run)) << "all 6 layers have the window";
    EXPECT_TRUE(has_unequal_layers(run_with(10, 4)));
}

TEST(AttentionWindow, IsMissingInEveryNthLayer) {
    const auto run = run_with(10, 4);
    std::int64_t windowed = 0;
    for (std::int64_t layer = 0; layer < run.model.layers; ++layer) {
        EXPECT_EQ(window_in_run(run, layer), layer == 3 ? 0 : 10) << layer;
        windowed += window_in_run(run, layer) > 0 ? 1 : 0;
    }
    EXPECT_EQ(num_windowed_layers(run), windowed);
    EXPECT_TRUE(has_unequal_windows(run));
    EXPECT_EQ(num_windowed_layers(run_with(10, 7)), 6) << "the model has too few layers for one without it";
}

TEST(AttentionWindow, IsThatOfTheLayersAttention) {
    const auto windows_of = [](const spec::RunSpec& run) {
        std::vector<std::int64_t> windows;
        for (const auto& unit : family_table(run).units) {
            for (const auto& phase : unit.phases) {
                if (phase.kind == PhaseKind::attention) {
                    windows.push_back(phase.window);
                }
            }
        }
        return windows;
    };
    EXPECT_EQ(windows_of(run_with(10, 3)), (std::vector<std::int64_t>{10, 10, 0, 10, 10, 0}));
    EXPECT_EQ(windows_of(run_with(10)), std::vector<std::int64_t>(6, 10));
    EXPECT_EQ(windows_of(run_with(40)), std::vector<std::int64_t>(6, 0));
}

TEST(AttentionWindow, SavesFlopsInItsLayersOnly) {
    const auto with = flops_per_token_by_unit(run_with(10, 3));
    const auto without = flops_per_token_by_unit(run_with(0));
    const double per_key = 3 * 4.0 * 32;
    for (std::size_t unit = 0; unit < with.size(); ++unit) {
        const bool is_windowed = unit >= 1 && unit <= 6 && unit % 3 != 0;
        const double saved = is_windowed ? per_key * (40.0 / 2 - counted_keys(40, 10)) : 0;
        EXPECT_DOUBLE_EQ(without[unit] - with[unit], saved) << unit;
    }
    EXPECT_STREQ(flops_formula(run_with(10, 3)), "6 (N - E) + 12 C K");
    EXPECT_STREQ(flops_formula(run_with(40, 3)), "6 (N - E) + 6 L C T");
}

// Layers without a window are more expensive in long sequences, so their stage has fewer layers.
TEST(AttentionWindow, BalancesStages) {
    auto run = run_with(16, 3);
    run.data.seq = run.model.max_seq = 1 << 20;
    run.parallel.stages = run.parallel.ranks = 2;
    EXPECT_EQ(stage_layers(run), (std::vector<std::int64_t>{3, 3}));
    run.model.full_attention_interval = 5;
    EXPECT_EQ(stage_layers(run), (std::vector<std::int64_t>{4, 2}));
}

TEST(AttentionWindow, NeedsNoWorkspaceOfCudnn) {
    auto run = run_with(64);
    run.data.seq = 128;
    run.train.micro_batch = 2;
    run.tiers.device = spec::DeviceKind::cuda;
    run.precision.compute = spec::DType::bf16;
    const auto sizes = attention_sizes(run);
    const auto windowed = make_workspaces(run, true, 64);
    EXPECT_EQ(windowed->attention_forward(sizes), 0);
    EXPECT_GT(windowed->attention_backward(sizes), 0);
    EXPECT_GT(make_workspaces(run, true)->attention_forward(sizes), 0);
}

}  // namespace
}  // namespace ziggurat::layout
