#include "spec/state_spans.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace ziggurat::spec {
namespace {

using Kind = SpanSetting::Kind;

TEST(StateSpans, AreStagesOverAllRanksOnly) {
    for (int stage = 0; stage <= 3; ++stage) {
        EXPECT_EQ(zero_stage_of(spans_of_stage(stage, 8), 8), stage);
    }
    EXPECT_EQ(zero_stage_of({1, 1, 4}, 8), std::nullopt);
    EXPECT_EQ(zero_stage_of({4, 4, 4}, 8), std::nullopt);
    EXPECT_EQ(zero_stage_of(spans_of_stage(3, 1), 1), 0) << "nothing can be sharded over one rank";
    EXPECT_EQ(span_text({1, 8, 8}, 8), "zero 2");
    EXPECT_EQ(span_text({1, 4, 8}, 8), "spans 1/4/8");
}

TEST(StateSpans, CoverWholeLayersOfACube) {
    EXPECT_EQ(in_whole_layers(spans_of_stage(0, 4), 2), (StateSpans{2, 2, 2}));
    EXPECT_EQ(in_whole_layers(spans_of_stage(1, 4), 2), (StateSpans{2, 2, 4}));
    EXPECT_EQ(in_whole_layers(spans_of_stage(3, 4), 2), (StateSpans{4, 4, 4}));
    EXPECT_EQ(in_whole_layers({1, 3, 6}, 1), (StateSpans{1, 3, 6}));
}

TEST(StateSpans, OfASearchNestAndGradientsFollow) {
    const auto all = allowed_spans({}, 8, 4);
    EXPECT_EQ(all.size(), 9U) << "3 x 3 choices of one rank, a node and all";
    for (const auto& [parameters, gradients, optimizer] : all) {
        EXPECT_EQ(optimizer % gradients, 0);
        EXPECT_EQ(gradients % parameters, 0);
        EXPECT_TRUE(gradients == parameters || gradients == optimizer);
    }
    for (int stage = 0; stage <= 3; ++stage) {
        EXPECT_EQ(std::ranges::count(all, spans_of_stage(stage, 8)), 1) << stage;
        EXPECT_EQ(allowed_spans(settings_of_stage(stage), 8, 4), (std::vector{spans_of_stage(stage, 8)}));
    }
    EXPECT_EQ(allowed_spans({}, 4, 4).size(), 4U) << "on one node, only the ZeRO stages";
    EXPECT_EQ(allowed_spans({}, 6, 4).size(), 9U) << "equal parts of two ranks";
    EXPECT_EQ(allowed_spans({}, 1, 1).size(), 1U);
}

TEST(StateSpans, KeepWhatIsSet) {
    const SpanSettings gradients_open{{Kind::number, 1}, {}, {Kind::node}};
    EXPECT_EQ(allowed_spans(gradients_open, 8, 4), (std::vector<StateSpans>{{1, 1, 4}, {1, 4, 4}}));
    EXPECT_TRUE(gradients_open.has_any());
    const SpanSettings too_small{{Kind::all}, {}, {Kind::number, 1}};
    EXPECT_TRUE(allowed_spans(too_small, 8, 4).empty());
    EXPECT_TRUE(allowed_spans({{Kind::number, 1}, {Kind::number, 1}, {Kind::number, 3}}, 8, 4).empty())
        << "a number divides the data ranks";
    EXPECT_FALSE(settings_of_stage(2).has_any());
}

TEST(StateSpans, DetermineTheSumsOfGradients) {
    EXPECT_EQ(reduce_plan_of({1, 1, 8}, 8, false), ReducePlan::at_end);
    EXPECT_EQ(reduce_plan_of({1, 4, 8}, 8, false), ReducePlan::by_span);
    EXPECT_EQ(reduce_plan_of({1, 8, 8}, 8, false), ReducePlan::each_microbatch);
    EXPECT_EQ(reduce_plan_of({1, 1, 1}, 8, true), ReducePlan::each_microbatch);
}

}  // namespace
}  // namespace ziggurat::spec
