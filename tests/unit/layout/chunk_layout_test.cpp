#include "layout/chunk_layout.hpp"

#include <gtest/gtest.h>

namespace ziggurat::layout {
namespace {

TEST(ChunkLayout, CutsTheShardsOneBehindTheOther) {
    const ChunkLayout chunks{{{0, {512, 1280}}, {2, {0, 640}}}, 512};

    EXPECT_EQ(chunks.num_chunks(), 3);
    EXPECT_EQ(chunks.chunk(0), (std::vector<UnitRange>{{0, {512, 1024}}}));
    EXPECT_EQ(chunks.chunk(1), (std::vector<UnitRange>{{0, {1024, 1280}}, {2, {0, 256}}}));
    EXPECT_EQ(chunks.chunk(2), (std::vector<UnitRange>{{2, {256, 640}}}));
    EXPECT_EQ(chunks.chunks(1, 3), (std::vector<UnitRange>{{0, {1024, 1280}}, {2, {0, 640}}}));
    EXPECT_EQ(chunks.chunks(2, 2), std::vector<UnitRange>{});
    EXPECT_EQ(chunks.chunks(3, 3), std::vector<UnitRange>{});
}

TEST(ChunkLayout, RoundsAChunkUpToWholeBlocks) {
    EXPECT_EQ((ChunkLayout{{{0, {0, 1024}}}, 300}).chunk_elements(), 512);
    EXPECT_EQ((ChunkLayout{{{0, {0, 1024}}}, 0}).chunk_elements(), ChunkLayout::usual_elements);
}

TEST(ChunkLayout, CutsEveryShardAtWholePages) {
    const ChunkLayout chunks{
        {{0, {512, 5632}}, {1, {0, 256}}, {2, {256, 9472}}}, 5000, ChunkLayout::page_elements};

    ASSERT_EQ(chunks.chunk_elements(), 6144);
    ASSERT_EQ(chunks.num_chunks(), 3);
    EXPECT_EQ(chunks.chunk(0), (std::vector<UnitRange>{{0, {512, 5632}}}));
    EXPECT_EQ(chunks.chunk(1), (std::vector<UnitRange>{{1, {0, 256}}, {2, {256, 4352}}}));
    EXPECT_EQ(chunks.chunk(2), (std::vector<UnitRange>{{2, {4352, 9472}}}));
}

TEST(ChunkLayout, HasNoChunksWithoutElements) {
    EXPECT_EQ((ChunkLayout{{{0, {7, 7}}}, 256}).num_chunks(), 0);
}

TEST(ChunkLayout, HoldsEachElementOnceInOrder) {
    for (const std::int64_t size : {256, 512, 768, 4096}) {
        std::vector<UnitRange> shards;
        for (int u = 0; u < 20; ++u) {
            shards.push_back({u, {256 * u, 256 * u + 256 * (u % 7)}});
        }

        const ChunkLayout chunks{shards, size};

        std::vector<UnitRange> joined;
        for (int k = 0; k < chunks.num_chunks(); ++k) {
            std::int64_t elements = 0;
            for (const auto& run : chunks.chunk(k)) {
                elements += run.range.size();
                if (!joined.empty() && joined.back().unit == run.unit) {
                    EXPECT_EQ(joined.back().range.end, run.range.begin);
                    joined.back().range.end = run.range.end;
                } else {
                    joined.push_back(run);
                }
            }
            EXPECT_TRUE(elements == size || k + 1 == chunks.num_chunks());
        }
        std::erase_if(shards, [](const UnitRange& shard) { return shard.range.empty(); });
        EXPECT_EQ(joined, shards);
    }
}

}  // namespace
}  // namespace ziggurat::layout
