#include "plan/search/longest_sequence.hpp"

#include <gtest/gtest.h>

#include "plan/plan_run.hpp"
#include "tests/unit/plan/two_nodes.hpp"

namespace ziggurat::plan {
namespace {

bool fits(spec::RunSpec spec, std::int64_t seq) {
    spec.data.seq = seq;
    spec.model.max_seq = std::max(spec.model.max_seq, seq);
    return plan_run(spec, test::machine_of_two_ranks(), PlannedRanks::first).footprint.fits();
}

spec::RunSpec run_with(std::int64_t device_bytes, int context) {
    auto spec = test::small_spec("llama", 1);
    spec.model.layers = 4;
    spec.train.micro_batch = 1;
    spec.parallel.context = context;
    spec.parallel.context_kind = spec::ContextKind::ulysses;
    spec.parallel.ranks = spec.parallel.ranks_per_node = spec.parallel.data = context;
    spec.sharding.sum_group = context;
    spec.train.global_batch = spec.train.micro_batches;
    spec.tiers.device_budget_bytes = device_bytes;
    return spec;
}

TEST(LongestSequence, IsTheGreatestThatFits) {
    for (const std::int64_t mebibytes : {8, 21, 64}) {
        const auto spec = run_with(mebibytes << 20, 1);
        const auto longest = longest_sequence(spec, test::machine_of_two_ranks());
        EXPECT_GT(longest.tokens, 0);
        EXPECT_EQ(longest.tokens % 128, 0);
        EXPECT_FALSE(longest.is_bound_by_positions || longest.is_bound_by_tokens);
        EXPECT_TRUE(fits(spec, longest.tokens));
        EXPECT_FALSE(fits(spec, longest.tokens + longest.tokens / 64 + 256));
    }
}

TEST(LongestSequence, GrowsWithTheContextRanks) {
    const auto of = [](int context) {
        return longest_sequence(run_with(32 << 20, context), test::machine_of_two_ranks()).tokens;
    };
    EXPECT_GT(of(2), of(1) * 14 / 10);  // the state and the scratch of attention do not become smaller
    EXPECT_EQ(of(2) % (2 * 64), 0);
}

TEST(LongestSequence, IsNoneIfTheStateAloneDoesNotFit) {
    EXPECT_EQ(longest_sequence(run_with(1 << 16, 1), test::machine_of_two_ranks()).tokens, 0);
}

TEST(LongestSequence, EndsWithTheLearnedPositions) {
    auto spec = test::small_spec("gpt2", 1);
    spec.model.max_seq = 300;
    const auto longest = longest_sequence(spec, test::machine_of_two_ranks());
    EXPECT_EQ(longest.tokens, 256);
    EXPECT_TRUE(longest.is_bound_by_positions);
}

}  // namespace
}  // namespace ziggurat::plan
