#include <gtest/gtest.h>

#include "data/tokenizer/merges.hpp"
#include "tests/support/random/draw.hpp"

namespace ziggurat::data {
namespace {

/// Merges by a slow reference implementation.
std::vector<std::int32_t> merged_slowly(const MergeTable& merges, std::vector<std::int32_t> ids) {
    for (;;) {
        std::size_t best = 0;
        MergeTable::Merge lowest;
        for (std::size_t i = 0; i + 1 < ids.size(); ++i) {
            if (const auto merge = merges.find(ids[i], ids[i + 1]); merge.rank < lowest.rank) {
                lowest = merge;
                best = i;
            }
        }
        if (lowest.rank == MergeTable::no_rank) {
            return ids;
        }
        ids[best] = lowest.id;
        ids.erase(ids.begin() + static_cast<std::ptrdiff_t>(best) + 1);
    }
}

using MergeFunction = std::size_t (*)(const MergeTable&, std::span<std::int32_t>);

std::vector<std::int32_t> merged_by(MergeFunction merge,
                                    const MergeTable& merges,
                                    std::vector<std::int32_t> ids) {
    ids.resize(merge(merges, ids));
    return ids;
}

/// Returns merges of a few letters into ever longer tokens, as tokenizer training makes them.
MergeTable drawn_merges(test::Draw& draw, int letters) {
    MergeTable merges{60};
    for (std::uint32_t rank = 0; rank < 60; ++rank) {
        const auto made = letters + static_cast<std::int32_t>(rank);
        merges.add(static_cast<std::int32_t>(draw.between(0, made - 1)),
                   static_cast<std::int32_t>(draw.between(0, made - 1)), {rank, made});
    }
    return merges;
}

TEST(Merges, BothWaysDoWhatIsSaidSlowly) {
    test::Draw draw{3};
    for (int round = 0; round < 2'000; ++round) {
        const int letters = static_cast<int>(draw.between(1, 4));
        const auto merges = drawn_merges(draw, letters);
        std::vector<std::int32_t> ids(static_cast<std::size_t>(draw.between(0, few_tokens)));
        for (auto& id : ids) {
            id = static_cast<std::int32_t>(draw.between(0, letters - 1));
        }
        const auto expected = merged_slowly(merges, ids);
        ASSERT_EQ(expected, merged_by(merge_few_tokens, merges, ids));
        ASSERT_EQ(expected, merged_by(merge_many_tokens, merges, ids));
        ASSERT_EQ(expected, merged_by(merge_tokens, merges, ids));
    }
}

TEST(Merges, ManyTokensTakeTheLongWay) {
    test::Draw draw{4};
    const auto merges = drawn_merges(draw, 2);
    std::vector<std::int32_t> ids(3000);
    for (auto& id : ids) {
        id = static_cast<std::int32_t>(draw.between(0, 1));
    }
    EXPECT_EQ(merged_slowly(merges, ids), merged_by(merge_tokens, merges, ids));
}

TEST(MergeTable, KeepsTheLaterOfTwo) {
    MergeTable merges{2};
    merges.add(1, 2, {0, 7});
    merges.add(1, 2, {1, 8});
    EXPECT_EQ(8, merges.find(1, 2).id);
    EXPECT_EQ(1u, merges.find(1, 2).rank);
    EXPECT_EQ(MergeTable::no_rank, merges.find(2, 1).rank);
}

}  // namespace
}  // namespace ziggurat::data
