#include "schedule/place/memory_timeline.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "base/round_up.hpp"

namespace ziggurat::schedule {
namespace {

using Range = AddressRanges::Range;

TEST(AddressRanges, MergeWithThoseThatTheyTouch) {
    AddressRanges ranges;
    ranges.add(100, 200);
    ranges.add(300, 400);
    EXPECT_EQ(ranges.ranges(), (std::vector<Range>{{100, 200}, {300, 400}}));
    ranges.add(400, 500);
    ranges.add(50, 100);
    EXPECT_EQ(ranges.ranges(), (std::vector<Range>{{50, 200}, {300, 500}}));
    ranges.add(150, 320);
    EXPECT_EQ(ranges.ranges(), (std::vector<Range>{{50, 500}}));
    ranges.add(0, 10);
    ranges.add(600, 700);
    ranges.add(100, 120);
    EXPECT_EQ(ranges.ranges(), (std::vector<Range>{{0, 10}, {50, 500}, {600, 700}}));
}

TEST(MemoryTimeline, TakesTheLowestOffsetThatIsFreeAtAllOpsOfALife) {
    MemoryTimeline timeline{6, 100};
    EXPECT_EQ(timeline.take({0, 2}, 50, 1), 100);
    EXPECT_EQ(timeline.take({4, 5}, 50, 1), 100);
    EXPECT_EQ(timeline.take({3, 3}, 50, 1), 100) << "between the two";
    EXPECT_EQ(timeline.take({2, 4}, 10, 1), 150) << "above all three";
    EXPECT_EQ(timeline.take({0, 1}, 10, 64), 192) << "aligned";
    EXPECT_EQ(timeline.take({0, 0}, 42, 1), 150) << "in the gap that alignment left";
    EXPECT_EQ(timeline.take({5, 5}, 1, 1), 150);
    EXPECT_EQ(timeline.end(), 202);
}

/// Buffer of a random timeline.
struct Life {
    LiveRange ops;
    std::int64_t bytes = 0;
    std::int64_t alignment = 1;
    std::int64_t begin = 0;

    bool meets(const Life& other) const { return ops.first <= other.ops.last && other.ops.first <= ops.last; }
};

int below(std::mt19937_64& random, int end) {
    return static_cast<int>(random() % static_cast<std::uint64_t>(end));
}

/// Returns mostly short lives, some of them as long as the list.
Life random_life(std::mt19937_64& random, int num_ops) {
    Life made;
    made.ops.first = below(random, num_ops);
    const int max = random() % 4 == 0 ? num_ops : 5;
    made.ops.last = std::min(num_ops - 1, made.ops.first + below(random, max));
    made.bytes = 1 + below(random, 500);
    made.alignment = random() % 3 == 0 ? 64 : 1;
    return made;
}

/// Returns the lowest offset by comparison with every placed buffer.
std::int64_t lowest(const std::vector<Life>& placed, const Life& of) {
    std::int64_t begin = 0;
    for (bool has_moved = true; has_moved;) {
        has_moved = false;
        for (const auto& other : placed) {
            if (other.meets(of) && other.begin < begin + of.bytes && begin < other.begin + other.bytes) {
                begin = round_up(other.begin + other.bytes, of.alignment);
                has_moved = true;
            }
        }
    }
    return begin;
}

TEST(MemoryTimeline, AgreesWithComparisonsOfAllBuffers) {
    std::mt19937_64 random{5};
    for (const int num_ops : {1, 2, 7, 64, 100}) {
        for (int round = 0; round < 10; ++round) {
            MemoryTimeline timeline{static_cast<std::size_t>(num_ops), 0};
            std::vector<Life> placed;
            for (int i = 0; i < 120; ++i) {
                auto life = random_life(random, num_ops);
                life.begin = timeline.take(life.ops, life.bytes, life.alignment);
                ASSERT_EQ(life.begin, lowest(placed, life)) << num_ops << " ops, buffer " << i;
                placed.push_back(life);
            }
        }
    }
}

// In the order of their begins, all buffers that keep a new one from a lower offset are live at its first op.
TEST(MemoryTimeline, LeavesNoHoleBetweenBuffersOfOneSizeInTheOrderOfTheirBegins) {
    std::mt19937_64 random{9};
    for (int round = 0; round < 30; ++round) {
        const int num_ops = 200;
        std::vector<Life> lives;
        for (int i = 0; i < 300; ++i) {
            lives.push_back(random_life(random, num_ops));
        }
        std::ranges::sort(lives, {}, [](const Life& life) { return life.ops.first; });
        MemoryTimeline timeline{num_ops, 0};
        std::vector<std::int64_t> live(num_ops);
        for (const auto& life : lives) {
            timeline.take(life.ops, 64, 64);
            for (int op = life.ops.first; op <= life.ops.last; ++op) {
                live[static_cast<std::size_t>(op)] += 64;
            }
        }
        EXPECT_EQ(timeline.end(), std::ranges::max(live));
    }
}

}  // namespace
}  // namespace ziggurat::schedule
