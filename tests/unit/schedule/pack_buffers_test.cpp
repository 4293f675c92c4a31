#include "schedule/place/pack_buffers.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace ziggurat::schedule {
namespace {

/// Returns random buffers, a quarter of them with long lives.
std::vector<BufferToPack> random_buffers(std::mt19937_64& random, int num, int num_ops, int max_bytes) {
    const auto below = [&](int end) { return static_cast<int>(random() % static_cast<std::uint64_t>(end)); };
    std::vector<BufferToPack> made;
    for (int i = 0; i < num; ++i) {
        const int first = below(num_ops);
        const int last = std::min(num_ops - 1, first + below(random() % 4 == 0 ? num_ops : 6));
        made.push_back({{first, last}, 64 * (1 + below(max_bytes / 64)), random() % 8 == 0 ? 4096 : 64});
    }
    return made;
}

std::int64_t max_live(const std::vector<BufferToPack>& buffers, int num_ops) {
    std::vector<std::int64_t> live(static_cast<std::size_t>(num_ops));
    for (const auto& buffer : buffers) {
        for (int op = buffer.life.first; op <= buffer.life.last; ++op) {
            live[static_cast<std::size_t>(op)] += buffer.bytes;
        }
    }
    return std::ranges::max(live);
}

void expect_valid(const std::vector<BufferToPack>& buffers, const PackedOffsets& packed, std::int64_t begin) {
    ASSERT_EQ(packed.offsets.size(), buffers.size());
    std::int64_t end = begin;
    for (std::size_t a = 0; a < buffers.size(); ++a) {
        EXPECT_GE(packed.offsets[a], begin);
        EXPECT_EQ(packed.offsets[a] % buffers[a].alignment, 0);
        end = std::max(end, packed.offsets[a] + buffers[a].bytes);
        for (std::size_t b = 0; b < a; ++b) {
            const auto& one = buffers[a].life;
            const auto& other = buffers[b].life;
            EXPECT_TRUE(one.last < other.first || other.last < one.first ||
                        packed.offsets[a] >= packed.offsets[b] + buffers[b].bytes ||
                        packed.offsets[b] >= packed.offsets[a] + buffers[a].bytes)
                << "buffers " << a << " and " << b;
        }
    }
    EXPECT_EQ(packed.end, end);
}

TEST(PackBuffers, NeverPutsTwoLiveBuffersAtOneOffset) {
    std::mt19937_64 random{3};
    for (int round = 0; round < 4; ++round) {
        const auto buffers = random_buffers(random, 150, 60, 9000);
        expect_valid(buffers, pack_buffers(buffers, 8192, 0), 8192);
    }
}

// In any order, a buffer at its lowest free offset lies on others that live at one of its ops. Among buffers
// of one size, in the order of their begins, all of them live at its first op.
TEST(PackBuffers, LeavesNoHoleBetweenBuffersOfOneSize) {
    std::mt19937_64 random{4};
    for (int round = 0; round < 20; ++round) {
        auto buffers = random_buffers(random, 200, 80, 64);
        for (auto& buffer : buffers) {
            buffer.alignment = 64;
        }
        const auto live = max_live(buffers, 80);
        EXPECT_EQ(pack_buffers(buffers, 0, live).end, live);
    }
}

TEST(PackBuffers, StopsAtAnEndThatIsEnough) {
    std::mt19937_64 random{5};
    const auto buffers = random_buffers(random, 100, 40, 9000);
    const auto smallest = pack_buffers(buffers, 0, 0);
    const auto first_found = pack_buffers(buffers, 0, 1 << 30);
    EXPECT_LT(smallest.end, first_found.end);
    EXPECT_EQ(pack_buffers(buffers, 0, smallest.end).end, smallest.end);
}

TEST(PackBuffers, MovesTheHighestBufferForwardUntilItFits) {
    std::mt19937_64 random{6};
    int num_without_holes = 0;
    for (int round = 0; round < 15; ++round) {
        const auto buffers = random_buffers(random, 24, 12, 512);
        num_without_holes += pack_buffers(buffers, 0, 0).end <= max_live(buffers, 12) * 101 / 100 ? 1 : 0;
    }
    EXPECT_GE(num_without_holes, 3) << "1 without repetitions";
}

TEST(PackBuffers, GivesTheSameOffsetsEveryTime) {
    std::mt19937_64 random{7};
    const auto buffers = random_buffers(random, 100, 40, 9000);
    EXPECT_EQ(pack_buffers(buffers, 64, 0).offsets, pack_buffers(buffers, 64, 0).offsets);
}

TEST(PackBuffers, AcceptsNone) {
    const auto packed = pack_buffers({}, 128, 0);
    EXPECT_EQ(packed.end, 128);
    EXPECT_TRUE(packed.offsets.empty());
}

}  // namespace
}  // namespace ziggurat::schedule
