#include "layout/context/ring_round.hpp"

#include <gtest/gtest.h>

#include <algorithm>

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

TEST(RingPlan, GivesAllRanksTheSameWorkInEveryRound) {
    for (const int ranks : {2, 3, 4, 7}) {
        const RingPlan plan{ranks, 12L * ranks, 0};
        const auto pairs_of_block = 6.0 * 6.0;
        for (int rank = 0; rank < ranks; ++rank) {
            // Two halves of own blocks and one block between them.
            EXPECT_EQ(plan.round(rank, 0).pairs(), 2 * pairs_of_block + 6);
            for (int hop = 1; hop < ranks; ++hop) {
                EXPECT_EQ(plan.round(rank, hop).pairs(), 2 * pairs_of_block) << rank << " " << hop;
            }
        }
    }
}

TEST(RingPlan, SendsEachBlockAsLongAsALaterRankNeedsIt) {
    for (const int ranks : {2, 3, 4, 5}) {
        for (const std::int64_t window : {0, 1, 2, 4, 5, 6, 10, 17}) {
            const RingPlan plan{ranks, 8L * ranks, window};
            for (int owner = 0; owner < ranks; ++owner) {
                for (int hop = 1; hop < ranks; ++hop) {
                    for (const auto key : plan.blocks_of(owner).index) {
                        double needed = 0;
                        for (int later = hop; later < ranks; ++later) {
                            for (const auto query : plan.blocks_of((owner + later) % ranks).index) {
                                needed += counted_pairs(4, query, key, window);
                            }
                        }
                        const auto sent = plan.arriving(owner, hop);
                        const bool is_sent = std::find(sent.index.begin(), sent.index.begin() + sent.count,
                                                       key) != sent.index.begin() + sent.count;
                        EXPECT_EQ(is_sent, needed > 0)
                            << ranks << " ranks, window " << window << ", block " << key << ", hop " << hop;
                    }
                }
            }
        }
    }
}

TEST(RingPlan, KeepsTheLastBlockOfASequenceWhichNoOtherRankNeeds) {
    const RingPlan plan{3, 24, 0};
    EXPECT_EQ(plan.arriving(0, 1), (RingBlocks{{0}, 1}));
    EXPECT_EQ(plan.arriving(1, 1), (RingBlocks{{1, 4}, 2}));
    EXPECT_EQ(plan.arriving(1, 2), (RingBlocks{{1, 4}, 2}));
}

}  // namespace
}  // namespace ziggurat::layout
