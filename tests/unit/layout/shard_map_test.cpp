#include "layout/shard_map.hpp"

#include <gtest/gtest.h>

#include <set>

#include "base/error.hpp"

namespace ziggurat::layout {
namespace {

constexpr auto block = FlatLayout::block;

std::vector<Spans> all_spans(int data) {
    std::vector<Spans> found;
    for (int o = 1; o <= data; ++o) {
        for (int g = 1; g <= o; ++g) {
            for (int p = 1; p <= g; ++p) {
                if (data % o == 0 && o % g == 0 && g % p == 0) {
                    found.push_back({p, g, o, data});
                }
            }
        }
    }
    return found;
}

bool contains(ElementRange outer, ElementRange inner) {
    return outer.begin <= inner.begin && inner.end <= outer.end;
}

TEST(ShardMap, CutsAsItsCommentShows) {
    const ShardMap map{4 * block, {1, 2, 4, 4}};

    std::vector<std::int64_t> gradient_begins;
    std::vector<std::int64_t> optimizer_begins;
    for (int rank = 0; rank < 4; ++rank) {
        gradient_begins.push_back(map.shard(2, rank).begin / block);
        optimizer_begins.push_back(map.shard(4, rank).begin / block);
    }

    EXPECT_EQ(gradient_begins, (std::vector<std::int64_t>{0, 2, 0, 2}));
    EXPECT_EQ(optimizer_begins, (std::vector<std::int64_t>{0, 2, 1, 3}));
}

TEST(ShardMap, GivesARunOfRanksEachElementOnce) {
    for (const int data : {1, 2, 6, 8, 12}) {
        for (const auto& spans : all_spans(data)) {
            const ShardMap map{3 * data * block, spans};
            for (const int span : {spans.parameters, spans.gradients, spans.optimizer, spans.data}) {
                for (int first = 0; first < data; first += span) {
                    std::set<std::int64_t> begins;
                    for (int rank = first; rank < first + span; ++rank) {
                        const auto shard = map.shard(span, rank);
                        EXPECT_EQ(shard.size(), map.padded_elements() / span);
                        EXPECT_EQ(shard.begin % block, 0);
                        begins.insert(shard.begin);
                    }
                    EXPECT_EQ(static_cast<int>(begins.size()), span);
                }
            }
        }
    }
}

TEST(ShardMap, NestsTheShardsOfOneRank) {
    for (const int data : {6, 8, 12}) {
        for (const auto& spans : all_spans(data)) {
            const ShardMap map{data * block, spans};
            for (int rank = 0; rank < data; ++rank) {
                EXPECT_TRUE(contains(map.shard(spans.parameters, rank), map.shard(spans.gradients, rank)));
                EXPECT_TRUE(contains(map.shard(spans.gradients, rank), map.shard(spans.optimizer, rank)));
                EXPECT_TRUE(contains(map.shard(spans.optimizer, rank), map.shard(spans.data, rank)));
            }
        }
    }
}

/// A group holds one coarse shard and splits it into all of its finer shards.
///
/// The second level of a reduction and every gather depend on it.
TEST(ShardMap, LetsGroupsCutOneShardIntoAllItsParts) {
    for (const int data : {6, 8, 12}) {
        for (const auto& spans : all_spans(data)) {
            const ShardMap map{data * block, spans};
            const std::vector<int> levels{1, spans.parameters, spans.gradients, spans.optimizer, spans.data};
            for (std::size_t inner = 0; inner < levels.size(); ++inner) {
                for (std::size_t span = inner; span < levels.size(); ++span) {
                    for (int rank = 0; rank < data; ++rank) {
                        const auto whole = levels[inner] == 1 ? ElementRange{0, map.padded_elements()}
                                                              : map.shard(levels[inner], rank);
                        std::set<std::int64_t> begins;
                        for (const int member : data_group(rank, levels[inner], levels[span])) {
                            const auto part = levels[span] == 1 ? whole : map.shard(levels[span], member);
                            EXPECT_TRUE(contains(whole, part));
                            begins.insert(part.begin);
                        }
                        EXPECT_EQ(static_cast<int>(begins.size()), levels[span] / levels[inner]);
                    }
                }
            }
        }
    }
}

TEST(ShardMap, BeginsWhereItsRegionDoes) {
    const Spans spans{2, 2, 4, 4};
    const ShardMap map{4 * block, spans};
    const ShardMap after{4 * block, spans, 3 * block};
    for (int rank = 0; rank < 4; ++rank) {
        for (const int span : {2, 4}) {
            EXPECT_EQ(after.shard(span, rank).begin, map.shard(span, rank).begin + 3 * block);
            EXPECT_EQ(after.shard(span, rank).size(), map.shard(span, rank).size());
        }
    }
}

TEST(ShardMap, RefusesSpansThatDoNotDivide) {
    EXPECT_THROW((ShardMap{4 * block, {1, 2, 3, 4}}), Error);
    EXPECT_THROW((ShardMap{4 * block + 1, {1, 1, 1, 4}}), Error);
}

}  // namespace
}  // namespace ziggurat::layout
