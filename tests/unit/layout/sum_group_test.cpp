#include "layout/sum_group.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "base/error.hpp"
#include "layout/shard_map.hpp"

namespace ziggurat::layout {
namespace {

/// Returns the members that the group of `rank` on the data axis sums together.
///
/// Members are `inner` apart within spans of `span`.
int together(int rank, int inner, int span, int sum_group) {
    return members_summed_together(data_group(rank, inner, span), sum_group);
}

TEST(MembersSummedTogether, IsTheDecksGroupOverConsecutiveRanks) {
    EXPECT_EQ(together(0, 1, 6, 2), 2);
    EXPECT_EQ(together(5, 1, 6, 3), 3);
    EXPECT_EQ(together(0, 1, 12, 4), 4);
}

TEST(MembersSummedTogether, IsOneRunWhereAllOrNoneBelongTogether) {
    EXPECT_EQ(together(0, 1, 6, 6), 0);
    EXPECT_EQ(together(0, 1, 6, 1), 0);
    EXPECT_EQ(together(7, 1, 4, 4), 0) << "ranks 4 to 7 are one run";
    EXPECT_EQ(members_summed_together(std::vector{3, 3, 3}, 2), 0) << "a group of another axis";
    EXPECT_EQ(members_summed_together({}, 2), 0);
}

TEST(MembersSummedTogether, CountsThoseOfAStridedGroup) {
    EXPECT_EQ(together(0, 2, 8, 4), 2) << "ranks 0 2 | 4 6";
    EXPECT_EQ(together(3, 3, 12, 6), 2) << "ranks 0 3 | 6 9";
    EXPECT_EQ(together(1, 4, 12, 4), 0) << "ranks 1, 5 and 9 are all apart";
    EXPECT_EQ(together(1, 6, 12, 3), 0) << "ranks 1 and 7 are apart";
}

TEST(MembersSummedTogether, FoldsPlainlyWhereRunsDiffer) {
    EXPECT_EQ(together(0, 2, 12, 3), 0) << "ranks 0 2 | 4 | 6 8 | 10";
    EXPECT_EQ(together(0, 1, 6, 4), 0) << "ranks 0 1 2 3 | 4 5";
    EXPECT_EQ(together(6, 1, 6, 4), 0) << "ranks 6 7 | 8 9 10 11";
    EXPECT_EQ(members_summed_together(std::vector{3, 4, 5}, 4), 0) << "ranks 3 | 4 5";
}

TEST(MembersSummedTogether, RefusesGroupsOfNone) {
    EXPECT_THROW(members_summed_together(std::vector{0, 1}, 0), Error);
}

}  // namespace
}  // namespace ziggurat::layout
