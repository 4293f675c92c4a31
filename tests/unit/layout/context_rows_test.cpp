#include "layout/context/context_rows.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "spec/run_spec.hpp"

namespace ziggurat::layout {
namespace {

spec::Parallel context_of(int ranks, spec::ContextKind kind) {
    spec::Parallel parallel;
    parallel.context = ranks;
    parallel.context_kind = kind;
    return parallel;
}

TEST(ContextRows, GiveEachRankOneBlockOfPositionsWithUlysses) {
    const auto rows = context_rows(context_of(3, spec::ContextKind::ulysses), 1, 12);

    EXPECT_EQ(rows.ranges()[0], (PositionRange{0, 4, 4}));
    EXPECT_EQ(rows.ranges()[1].count, 0);
    EXPECT_EQ(rows.position(3), 7);
}

TEST(ContextRows, GiveEachRankABlockFromBothEndsWithRing) {
    const auto rows = context_rows(context_of(3, spec::ContextKind::ring), 1, 18);

    EXPECT_EQ(rows.size, 6);
    EXPECT_EQ(rows.ranges()[0], (PositionRange{0, 3, 3}));
    EXPECT_EQ(rows.ranges()[1], (PositionRange{3, 12, 3}));
    EXPECT_EQ(rows.position(2), 5);
    EXPECT_EQ(rows.position(3), 12);
}

TEST(ContextRows, HaveEachPositionOnOneRank) {
    for (const auto kind : {spec::ContextKind::ring, spec::ContextKind::ulysses}) {
        for (const int ranks : {1, 2, 3, 4, 7}) {
            const std::int64_t seq = 10 * ranks;
            std::vector<int> found(static_cast<std::size_t>(seq));
            for (int rank = 0; rank < ranks; ++rank) {
                const auto rows = context_rows(context_of(ranks, kind), rank, seq);
                EXPECT_EQ(rows.size, 10);
                for (std::int64_t row = 0; row < rows.size; ++row) {
                    ++found.at(static_cast<std::size_t>(rows.position(row)));
                }
            }
            EXPECT_EQ(found, std::vector<int>(static_cast<std::size_t>(seq), 1)) << ranks << " ranks";
        }
    }
}

TEST(ContextRows, GiveAllRanksOfARingTheSameNumberOfPairs) {
    for (const int ranks : {2, 3, 5}) {
        const std::int64_t seq = 8 * ranks;
        for (int rank = 0; rank < ranks; ++rank) {
            const auto rows = context_rows(context_of(ranks, spec::ContextKind::ring), rank, seq);
            std::int64_t pairs = 0;
            for (std::int64_t row = 0; row < rows.size; ++row) {
                pairs += rows.position(row) + 1;
            }
            EXPECT_EQ(pairs * ranks, seq * (seq + 1) / 2);
        }
    }
}

TEST(GatheredRows, AreThoseOfAllRanksInTheirOrder) {
    for (const auto kind : {spec::ContextKind::ring, spec::ContextKind::ulysses}) {
        for (const int ranks : {1, 2, 3, 5}) {
            const std::int64_t seq = 6 * ranks;
            const auto parallel = context_of(ranks, kind);
            for (int rank = 0; rank < ranks; ++rank) {
                const auto own = context_rows(parallel, rank, seq);
                const auto gathered = gathered_rows(parallel, rank, 3, seq);
                for (std::int64_t row = 0; row < 3 * own.size; ++row) {
                    const auto of_batch = row / own.size * seq + own.position(row % own.size);
                    EXPECT_EQ(gathered.index(of_batch), rank * 3 * own.size + row) << ranks << " ranks";
                    EXPECT_EQ(gathered.local(gathered.index(of_batch)), row);
                }
            }
        }
    }
}

TEST(GatheredRows, AreThoseOfTheBatchByDefault) {
    EXPECT_EQ(GatheredRows{}.index(5), 5);
    EXPECT_EQ(GatheredRows{}.local(5), 5);
}

TEST(ContextRows, AreThePositionsThemselvesByDefault) {
    EXPECT_EQ(ContextRows{}.position(5), 5);
}

}  // namespace
}  // namespace ziggurat::layout
