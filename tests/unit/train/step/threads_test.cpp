#include "train/step/rank_threads.hpp"

#include <gtest/gtest.h>

#include <numeric>

namespace ziggurat::train {
namespace {

std::vector<int> cores(int first, int count) {
    std::vector<int> all(static_cast<std::size_t>(count));
    std::iota(all.begin(), all.end(), first);
    return all;
}

TEST(ShareOfCores, IsAllForARankAlone) {
    EXPECT_EQ(share_of_cores(std::vector<RankPlacement>{{"a", cores(0, 6)}}, 0), 6);
}

TEST(ShareOfCores, DividesCoresThatAllMayUse) {
    const std::vector<RankPlacement> ranks(3, {"a", cores(0, 8)});
    EXPECT_EQ(share_of_cores(ranks, 0), 2);
    EXPECT_EQ(share_of_cores(ranks, 2), 2);
}

TEST(ShareOfCores, KeepsCoresOfItsOwn) {
    const std::vector<RankPlacement> ranks{{"a", cores(0, 4)}, {"a", cores(4, 4)}, {"a", cores(8, 2)}};
    EXPECT_EQ(share_of_cores(ranks, 0), 4);
    EXPECT_EQ(share_of_cores(ranks, 2), 2);
}

TEST(ShareOfCores, DoesNotCountOtherNodes) {
    const std::vector<RankPlacement> ranks{{"a", cores(0, 4)}, {"b", cores(0, 4)}};
    EXPECT_EQ(share_of_cores(ranks, 0), 4);
}

TEST(ShareOfCores, IsOneWhenThereAreMoreRanksThanCores) {
    EXPECT_EQ(share_of_cores(std::vector<RankPlacement>(5, {"a", cores(0, 2)}), 4), 1);
}

TEST(ShareOfCores, StaysWithinWhatTheControlGroupGrants) {
    const std::vector<RankPlacement> ranks(2, {"a", cores(0, 64)});
    EXPECT_EQ(share_of_cores(ranks, 0, 8), 4);
    EXPECT_EQ(share_of_cores(ranks, 0, 1), 1);
}

TEST(ShareOfCores, AddsThirdsToWholes) {
    EXPECT_EQ(share_of_cores(std::vector<RankPlacement>(3, {"a", cores(0, 3)}), 0), 1);
    EXPECT_EQ(share_of_cores(std::vector<RankPlacement>(6, {"a", cores(0, 18)}), 0), 3);
}

TEST(UsableCores, AreAtLeastOne) {
    EXPECT_FALSE(usable_cores().empty());
    EXPECT_GE(control_group_core_limit(), 0);
}

}  // namespace
}  // namespace ziggurat::train
