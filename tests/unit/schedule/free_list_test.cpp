#include "schedule/place/free_list.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <random>
#include <vector>

namespace ziggurat::schedule {
namespace {

TEST(FreeList, GrowsWhenNothingHoldsTheBytes) {
    FreeList list{100};
    EXPECT_EQ(list.end(), 100);
    EXPECT_EQ(list.take(10, 64, FitPolicy::smallest), 128);
    EXPECT_EQ(list.end(), 138);
    list.release(128, 10, 0);
    EXPECT_EQ(list.take(100, 64, FitPolicy::oldest), 128) << "from the free bytes at its end on";
    EXPECT_EQ(list.end(), 228);
    EXPECT_EQ(list.take(20, 1, FitPolicy::smallest), 100) << "what alignment left";
}

TEST(FreeList, TakesTheSmallestRangeThatHoldsThem) {
    FreeList list{0};
    list.grow_to(1000, 0);
    EXPECT_EQ(list.take(1000, 1, FitPolicy::smallest), 0);
    list.release(0, 300, 5);
    list.release(500, 100, 9);
    EXPECT_EQ(list.take(100, 1, FitPolicy::smallest), 500);
    EXPECT_EQ(list.take(100, 1, FitPolicy::smallest), 0);
}

TEST(FreeList, TakesBytesThatHaveBeenFreeForLongest) {
    FreeList list{0};
    list.grow_to(400, 0);
    EXPECT_EQ(list.take(400, 1, FitPolicy::oldest), 0);
    list.release(100, 100, 7);
    list.release(0, 100, 8);
    list.release(200, 100, 6);
    list.release(300, 100, 9);
    EXPECT_EQ(list.take(150, 1, FitPolicy::oldest), 100) << "of times 7 and 6, in the midst of a range";
    EXPECT_EQ(list.take(60, 1, FitPolicy::oldest), 0) << "8, and not 9 or what is left of 6 in front of it";
    EXPECT_EQ(list.take(50, 1, FitPolicy::oldest), 250);
}

TEST(FreeList, TakesTheEndOfARangeWhoseBeginIsYounger) {
    FreeList list{0};
    list.grow_to(300, 1);
    EXPECT_EQ(list.take(128, 64, FitPolicy::oldest), 0);
    list.release(0, 128, 2);
    EXPECT_EQ(list.take(150, 1, FitPolicy::oldest), 128);
    list.release(128, 150, 3);
    EXPECT_EQ(list.take(22, 1, FitPolicy::oldest), 278);
}

TEST(FreeList, JoinsWhatWasGivenBackAtOneTime) {
    for (const auto& order : {std::array{0, 100, 200}, std::array{0, 200, 100}, std::array{200, 100, 0}}) {
        FreeList list{0};
        EXPECT_EQ(list.take(300, 1, FitPolicy::smallest), 0);
        for (const int begin : order) {
            list.release(begin, 100, 4);
        }
        EXPECT_EQ(list.take(300, 1, FitPolicy::oldest), 0);
        EXPECT_EQ(list.end(), 300);
    }
}

TEST(FreeList, ReadsTheAgeOfEachSegmentAFewTimes) {
    constexpr std::int64_t pieces = 1000;
    std::vector<std::int64_t> times(pieces);
    std::iota(times.begin(), times.end(), 1);
    std::mt19937_64 random{5};
    for (const bool is_shuffled : {false, true}) {
        if (is_shuffled) {
            std::shuffle(times.begin(), times.end(), random);
        }
        FreeList list{0};
        list.grow_to(64 * pieces, 0);
        EXPECT_EQ(list.take(64 * pieces, 64, FitPolicy::oldest), 0);
        for (std::int64_t i = 0; i < pieces; ++i) {
            list.release(64 * i, 64, times[static_cast<std::size_t>(i)]);
        }
        list.take(64 * pieces / 2, 64, FitPolicy::oldest);
        EXPECT_LE(list.segments_read(), 4 * pieces) << "and not the ages of all bytes of each offset";
    }
}

TEST(FreeList, ThatIsEmptyHoldsNothingOfNoBytes) {
    FreeList list{0};
    EXPECT_EQ(list.take(0, 64, FitPolicy::smallest), 0);
    list.release(0, 0, 3);
    EXPECT_EQ(list.end(), 0);
}

// Reference by bytes: the time at which each byte was freed.
TEST(FreeList, AgreesWithAMapOfBytes) {
    constexpr std::int64_t size = 200;
    constexpr std::int64_t in_use = -1;
    std::mt19937_64 random{11};
    for (int round = 0; round < 200; ++round) {
        FreeList list{0};
        list.grow_to(size, 0);
        std::vector<std::int64_t> freed(size, 0);
        std::vector<std::pair<std::int64_t, std::int64_t>> held;
        for (std::int64_t time = 1; time < 60; ++time) {
            if (!held.empty() && random() % 2 == 0) {
                std::swap(held[random() % held.size()], held.back());
                const auto [begin, bytes] = held.back();
                held.pop_back();
                list.release(begin, bytes, time);
                std::fill_n(freed.begin() + begin, bytes, time);
                continue;
            }
            const auto bytes = static_cast<std::int64_t>(1 + random() % 40);
            std::int64_t oldest = time;  // over all holes that fit
            for (std::int64_t begin = 0; begin + bytes <= static_cast<std::int64_t>(freed.size()); ++begin) {
                const auto from = freed.begin() + begin;
                if (std::find(from, from + bytes, in_use) == from + bytes) {
                    oldest = std::min(oldest, *std::max_element(from, from + bytes));
                }
            }
            const auto begin = list.take(bytes, 1, FitPolicy::oldest);
            freed.resize(static_cast<std::size_t>(list.end()), 0);
            const auto from = freed.begin() + begin;
            ASSERT_EQ(std::find(from, from + bytes, in_use), from + bytes) << "in use";
            if (oldest < time) {
                ASSERT_EQ(*std::max_element(from, from + bytes), oldest);
            }
            std::fill_n(from, bytes, in_use);
            held.emplace_back(begin, bytes);
        }
    }
}

}  // namespace
}  // namespace ziggurat::schedule
