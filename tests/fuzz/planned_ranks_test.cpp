/// Plans need what the fullest of all ranks reserves: random decks over all axes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>

#include "plan/plan_run.hpp"
#include "tests/support/random/random_axes_deck.hpp"

namespace ziggurat::test {
namespace {

constexpr int max_ranks = 12;
constexpr int decks = 60;

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
