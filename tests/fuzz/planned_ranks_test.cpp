/// Plans need what the fullest of all ranks reserves: random decks over all axes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "plan/plan_run.hpp"
#include "tests/support/random/random_axes_deck.hpp"
#include "tests/support/random/random_spec.hpp"

namespace ziggurat::test {
namespace {

constexpr int max_ranks = 12;
constexpr int decks = 60;
/// With seed 94, a rank between those that are spread over the data axis is the fullest.
constexpr std::uint64_t first_spec = 81;
constexpr std::uint64_t specs = 40;

std::int64_t device_bytes_of_all(const spec::RunSpec& run) {
    std::int64_t bytes = 0;
    for (int rank = 0; rank < run.parallel.ranks; ++rank) {
        bytes = std::max(bytes, plan::bytes_of_rank(run, rank)[0]);
    }
    return bytes;
}

TEST(PlannedRanks, IncludeTheFullest) {
    int differing = 0;
    for (std::uint64_t seed = 1; seed <= decks; ++seed) {
        const auto deck = random_deck_of_axes(seed, max_ranks, "nvme");
        const auto needed = plan::plan_run(deck.run).footprint.needed[0];
        EXPECT_EQ(needed, device_bytes_of_all(deck.run)) << "seed " << seed << "\n" << deck.text;
        differing += plan::bytes_of_rank(deck.run, 0)[0] < needed ? 1 : 0;
    }
    EXPECT_GT(differing, decks / 10) << "in these decks another rank than the first is the fullest";
}

/// Programs of the ranks of a small run are all built, so that the plan of each tier is exact.
TEST(PlannedRanks, OfASmallRunAreAll) {
    int differing = 0;
    for (std::uint64_t seed = first_spec; seed < first_spec + specs; ++seed) {
        const auto run = random_spec(seed, {.max_ranks = seed % 2 == 0 ? 36 : 16,
                                            .stages_differ = seed % 5 == 0,
                                            .fates = seed % 7 == 0,
                                            .lora = seed % 11 == 0,
                                            .grids = seed % 4 < 2});
        std::vector<plan::RankBytes> by_rank;
        std::vector<int> node_of;
        for (int rank = 0; rank < run.parallel.ranks; ++rank) {
            by_rank.push_back(plan::needs_of_rank(run, rank));
            node_of.push_back(rank / run.parallel.ranks_per_node);
        }
        const auto of_all = plan::footprint_of(run, {}, by_rank, node_of);
        const auto planned = plan::plan_run(run).footprint;
        EXPECT_EQ(planned.needed, of_all.needed) << "seed " << seed;
        EXPECT_EQ(planned.processes, of_all.processes) << "seed " << seed;
        differing += by_rank.front().tiers[0] < of_all.needed[0] ? 1 : 0;
    }
    EXPECT_GT(differing, 0) << "in these runs another rank than the first is the fullest";
}

TEST(PlannedRanks, OfASearchDecideWhereLittleIsFree) {
    int tried = 0;
    for (std::uint64_t seed = 1; seed <= decks && tried < 4; ++seed) {
        auto run = random_deck_of_axes(seed, max_ranks, "nvme").run;
        const auto first = plan::plan_run(run, {}, plan::PlannedRanks::first).footprint.needed[0];
        const auto needed = device_bytes_of_all(run);
        if (first < needed && needed < first + first / 20) {
            ++tried;
            run.tiers.device_budget_bytes = first;
            EXPECT_FALSE(plan::footprint_in_search(run, {}).fits()) << "seed " << seed;
            run.tiers.device_budget_bytes = needed;
            EXPECT_TRUE(plan::footprint_in_search(run, {}).fits()) << "seed " << seed;
        }
    }
    EXPECT_EQ(tried, 4);
}

}  // namespace
}  // namespace ziggurat::test
