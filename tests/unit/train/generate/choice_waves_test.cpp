#include "train/generate/choice_waves.hpp"

#include <gmock/gmock.h>

#include <numeric>

#include "spec/passes_with_cache.hpp"

namespace ziggurat::train {
namespace {

/// Rows of tasks with equal numbers of endings: a beginning of all, a context of the task, and endings.
data::ChoiceRows rows_of(int tasks, int endings, int of_all, int context, int ending) {
    data::ChoiceRows rows;
    for (int task = 0; task < tasks; ++task) {
        for (int e = 0; e < endings; ++e) {
            rows.rows.push_back({of_all + context, ending});
            for (int i = 0; i < of_all; ++i) {
                rows.tokens.push_back(i);
            }
            for (int i = 0; i < context; ++i) {
                rows.tokens.push_back(1000 * (task + 1) + i);
            }
            for (int i = 0; i < ending; ++i) {
                rows.tokens.push_back(7 + 10 * e + i);
            }
        }
    }
    return rows;
}

TEST(ChoiceWaves, ReadTheContextOfATaskOnce) {
    const auto rows = rows_of(3, 4, 0, 20, 5);
    const auto waves = choice_waves(rows, 512);
    EXPECT_EQ(waves.shared_by_all, 0);
    ASSERT_EQ(waves.groups.size(), 3);
    EXPECT_EQ(waves.groups[1].first_row, 4);
    EXPECT_EQ(waves.groups[1].rows, 4);
    EXPECT_EQ(waves.groups[1].shared, 19) << "the logits of the last token of the context are needed";
    ASSERT_EQ(waves.waves.size(), 1);
    EXPECT_EQ(waves.waves[0].prompt_tokens, 3 * 19);
    EXPECT_EQ(waves.waves[0].logit_tokens, 3 * 4 * 5);
    EXPECT_EQ(waves.waves[0].sequences, 3 * 5);
}

TEST(ChoiceWaves, ReadTheBeginningOfAllRowsOnce) {
    const auto waves = choice_waves(rows_of(5, 2, 100, 20, 5), 512);
    EXPECT_EQ(waves.shared_by_all, 100);
    EXPECT_EQ(waves.waves[0].prompt_tokens, 5 * 19);
    EXPECT_EQ(choice_waves(rows_of(5, 2, 63, 20, 5), 512).shared_by_all, 0) << "less than a page";
    const auto one = choice_waves(rows_of(1, 4, 100, 20, 5), 512);
    EXPECT_EQ(one.shared_by_all, 119);
    EXPECT_EQ(one.groups.size(), 1);
    EXPECT_EQ(one.waves[0].prompt_tokens, 0);
}

TEST(ChoiceWaves, EndWhenTheirTokensFillAPass) {
    const auto rows = rows_of(10, 4, 0, 20, 5);
    const auto waves = choice_waves(rows, 60);
    ASSERT_EQ(waves.waves.size(), 4);
    EXPECT_EQ(waves.waves[0].groups, 3);
    EXPECT_EQ(waves.waves[3].first_group, 9);
    EXPECT_EQ(waves.waves[3].groups, 1);
    EXPECT_EQ(choice_waves(rows, 59).waves[0].groups, 2);
    EXPECT_EQ(choice_waves(rows, 1).waves.size(), 10) << "a group is not divided";
}

TEST(ChoiceWaves, CountTheirPages) {
    // All rows share positions 0 to 98, in two pages. The group has the second one as a copy; each row has it
    // as a copy, and a third one.
    const auto waves = choice_waves(rows_of(1, 3, 0, 100, 40), 512);
    EXPECT_EQ(waves.waves[0].pages, 1 + 3 * 2);
    // A beginning of 128 tokens fills pages that the tasks share.
    const auto shared = choice_waves(rows_of(2, 1, 128, 30, 10), 512);
    EXPECT_EQ(shared.waves[0].pages, 2 * (1 + 1));
}

TEST(ChoiceWaves, JoinRowsWhoseContextsDifferLate) {
    // Two endings of one context, where the second context has another last token.
    data::ChoiceRows rows{.rows = {{10, 2}, {11, 2}}, .tokens = {}};
    rows.tokens.resize(12);
    std::iota(rows.tokens.begin(), rows.tokens.end(), 0);
    for (int i = 0; i < 13; ++i) {
        rows.tokens.push_back(i == 8 ? 99 : i);
    }
    const auto waves = choice_waves(rows, 512);
    ASSERT_EQ(waves.groups.size(), 1);
    EXPECT_EQ(waves.groups[0].shared, 8);
}

TEST(ChoiceWaves, FitTheCacheOfTheirPasses) {
    spec::RunSpec run;
    run.data.seq = 256;
    run.train.micro_batch = 1;
    const auto rows = rows_of(40, 4, 70, 100, 20);
    const auto passes = passes_of_choices(rows, run);
    EXPECT_LE(passes.prompt_rows, 256);
    EXPECT_LE(passes.logit_rows, 256);
    EXPECT_EQ(passes.logit_rows, 240) << "all waves but the last have 3 groups of 80 tokens";
    EXPECT_EQ(passes.positions, 70 + 100 + 20 - 1);
    for (const auto& wave : choice_waves(rows, 256).waves) {
        EXPECT_LE(wave.pages + 2, passes.pages);
        EXPECT_LT(wave.sequences, passes.sequences);
    }
}

}  // namespace
}  // namespace ziggurat::train
