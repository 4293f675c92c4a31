#include "layout/context/ring_round.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace ziggurat::layout {
namespace {

/// Returns the pairs of two blocks, one by one.
double counted_pairs(std::int64_t block,
                     std::int64_t query_block,
                     std::int64_t key_block,
                     std::int64_t window) {
    double pairs = 0;
    for (auto q = query_block * block; q < (query_block + 1) * block; ++q) {
        for (auto k = key_block * block; k < (key_block + 1) * block; ++k) {
            pairs += k <= q && (window == 0 || q - k < window) ? 1 : 0;
        }
    }
    return pairs;
}

TEST(RingRound, CountsThePairsOfCausalMaskAndWindow) {
    for (const std::int64_t block : {1, 2, 5, 8}) {
        for (std::int64_t window = 0; window < 30; ++window) {
            for (std::int64_t query = 0; query < 4; ++query) {
                for (std::int64_t key = 0; key < 4; ++key) {
                    const RingRound round{
                        .block = block, .queries = {{query}, 1}, .keys = {{key}, 1}, .window = window};
                    const auto pairs = counted_pairs(block, query, key, window);
                    EXPECT_EQ(round.pairs(), pairs) << block << " " << query << " " << key << " " << window;
                    EXPECT_EQ(round.meet(query, key), pairs > 0);
                }
            }
        }
    }
}

/// Numbers of nodes, and of ranks on each of them.
struct Levels {
    int nodes, inner;
};

constexpr Levels all_levels[] = {{1, 2}, {1, 3}, {1, 5}, {2, 2}, {2, 3}, {3, 2}, {2, 4}, {4, 2}, {3, 3}};

TEST(RingPlan, GivesAllRanksTheSameWorkInEveryRound) {
    for (const auto [nodes, inner] : all_levels) {
        const int ranks = nodes * inner;
        const RingPlan plan{ranks, inner, 12L * ranks, 0};
        const auto pairs_of_block = 6.0 * 6.0;
        for (int rank = 0; rank < ranks; ++rank) {
            for (int owner = 0; owner < ranks; ++owner) {
                // A rank's own keys: two halves of own blocks and one block between them.
                EXPECT_EQ(plan.round(rank, owner).pairs(), 2 * pairs_of_block + (owner == rank ? 6 : 0))
                    << rank << " " << owner;
            }
        }
    }
}

TEST(RingPlan, GivesEachRankTheKeysOfAllRanksFromThePreviousOnes) {
    for (const auto [nodes, inner] : all_levels) {
        const int ranks = nodes * inner;
        const RingPlan plan{ranks, inner, 2L * ranks, 0};
        ASSERT_EQ(plan.turns(), nodes);
        for (int rank = 0; rank < ranks; ++rank) {
            std::set<int> owners;
            const int node = rank / inner;
            const int previous = node * inner + (rank + inner - 1) % inner;
            const int on_previous_node = (rank + ranks - inner) % ranks;
            for (int turn = 0; turn < nodes; ++turn) {
                for (int step = 0; step < inner; ++step) {
                    const int owner = plan.owner_of(rank, turn, step);
                    owners.insert(owner);
                    if (step > 0) {
                        EXPECT_EQ(owner, plan.owner_of(previous, turn, step - 1));
                    } else if (turn > 0) {
                        EXPECT_EQ(owner, plan.owner_of(on_previous_node, turn - 1, 0));
                    }
                }
            }
            EXPECT_EQ(std::ssize(owners), ranks);
            EXPECT_EQ(plan.owner_of(rank, 0, 0), rank);
            EXPECT_EQ(plan.owner_of(rank, nodes, inner), rank);
        }
    }
}

bool contains(const RingBlocks& blocks, std::int64_t block) {
    const auto end = blocks.index.begin() + blocks.count;
    return std::find(blocks.index.begin(), end, block) != end;
}

TEST(RingPlan, SendsEachBlockAsLongAsALaterRankNeedsIt) {
    for (const auto [nodes, inner] : all_levels) {
        for (const std::int64_t window : {0, 1, 2, 4, 5, 6, 10, 17}) {
            const int ranks = nodes * inner;
            const RingPlan plan{ranks, inner, 8L * ranks, window};
            for (int owner = 0; owner < ranks; ++owner) {
                for (const auto key : plan.blocks_of(owner).index) {
                    /// True if a rank that has the keys in one of these rounds attends to them.
                    const auto is_needed = [&](int first_turn, int end_turn, int first_step) {
                        double pairs = 0;
                        for (int rank = 0; rank < ranks; ++rank) {
                            for (int turn = first_turn; turn < end_turn; ++turn) {
                                for (int step = first_step; step < inner; ++step) {
                                    for (const auto query : plan.blocks_of(rank).index) {
                                        pairs += plan.owner_of(rank, turn, step) == owner
                                                     ? counted_pairs(4, query, key, window)
                                                     : 0;
                                    }
                                }
                            }
                        }
                        return pairs > 0;
                    };
                    for (int turn = 0; turn < nodes; ++turn) {
                        EXPECT_EQ(contains(plan.needed_from(owner, turn), key), is_needed(turn, nodes, 0));
                        EXPECT_EQ(contains(plan.needed_after_first(owner, turn), key),
                                  is_needed(1, turn + 1, 0));
                        for (int step = 0; step < inner; ++step) {
                            EXPECT_EQ(contains(plan.needed_in(owner, turn, step), key),
                                      is_needed(turn, turn + 1, step))
                                << nodes << " x " << inner << ", window " << window << ", block " << key
                                << ", turn " << turn << ", step " << step;
                        }
                    }
                }
            }
        }
    }
}

TEST(RingPlan, KeepsTheLastBlockOfASequenceWhichNoOtherRankNeeds) {
    const RingPlan plan{3, 3, 24, 0};
    EXPECT_EQ(plan.needed_in(0, 0, 1), (RingBlocks{{0}, 1}));
    EXPECT_EQ(plan.needed_in(1, 0, 1), (RingBlocks{{1, 4}, 2}));
    EXPECT_EQ(plan.needed_in(1, 0, 2), (RingBlocks{{1, 4}, 2}));
}

TEST(RingPlan, SendsOnlyTheFirstBlockToLaterNodes) {
    const RingPlan plan{4, 2, 32, 0};
    EXPECT_EQ(plan.needed_from(0, 1), (RingBlocks{{0}, 1}));
    EXPECT_EQ(plan.needed_from(1, 1), (RingBlocks{{1}, 1}));
    EXPECT_EQ(plan.needed_from(2, 1), (RingBlocks{{2, 5}, 2}));  // earlier nodes have later blocks
}

}  // namespace
}  // namespace ziggurat::layout
