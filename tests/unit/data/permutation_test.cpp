#include "data/order/permutation.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

namespace ziggurat::data {
namespace {

std::vector<std::int64_t> order(const Permutation& permutation, std::int64_t epoch) {
    std::vector<std::int64_t> result;
    for (std::int64_t i = 0; i < permutation.size(); ++i) {
        result.push_back(permutation.at(epoch, i));
    }
    return result;
}

TEST(Permutation, HasEachIndexOnceInEveryEpoch) {
    for (const std::int64_t size : {1, 2, 3, 4, 5, 7, 8, 9, 31, 33, 64, 65, 1000, 4097}) {
        const Permutation permutation{size, 1234, 0};
        for (const std::int64_t epoch : {std::int64_t{0}, std::int64_t{1}, std::int64_t{1} << 40}) {
            auto visited = order(permutation, epoch);
            std::sort(visited.begin(), visited.end());
            for (std::int64_t i = 0; i < size; ++i) {
                ASSERT_EQ(i, visited[static_cast<std::size_t>(i)]) << "size " << size << ", epoch " << epoch;
            }
        }
    }
}

TEST(Permutation, KnowsThePositionOfEachIndex) {
    for (const std::int64_t size : {1, 2, 3, 5, 8, 9, 33, 1000, 4097}) {
        const Permutation permutation{size, 99, 7};
        for (const std::int64_t epoch : {std::int64_t{0}, std::int64_t{3}, std::int64_t{1} << 40}) {
            for (std::int64_t position = 0; position < size; ++position) {
                ASSERT_EQ(position, permutation.position_of(epoch, permutation.at(epoch, position)))
                    << "size " << size << ", epoch " << epoch;
            }
        }
    }
}

TEST(Permutation, DiffersByEpochSeedAndStream) {
    const auto base = order({1000, 1234, 0}, 0);

    EXPECT_EQ(base, order({1000, 1234, 0}, 0));
    EXPECT_NE(base, order({1000, 1234, 0}, 1));
    EXPECT_NE(base, order({1000, 1235, 0}, 0));
    EXPECT_NE(base, order({1000, 1234 + (std::uint64_t{1} << 32), 0}, 0));
    EXPECT_NE(base, order({1000, 1234, 1}, 0));
    EXPECT_NE(order({1000, 1234, 0}, 1), order({1000, 1234, 0}, 1 + (std::int64_t{1} << 32)));
}

TEST(Permutation, LooksRandom) {
    // In a random order of 10,000 numbers, on average 1 keeps its position and 1 follows its neighbour.
    // The first half of the positions has 2500 +- 50 numbers of the lower half.
    const auto numbers = order({10'000, 7, 3}, 5);
    int fixed = 0;
    int successive = 0;
    int low_first = 0;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        fixed += numbers[i] == static_cast<std::int64_t>(i) ? 1 : 0;
        successive += i > 0 && numbers[i] == numbers[i - 1] + 1 ? 1 : 0;
        low_first += i < 5000 && numbers[i] < 5000 ? 1 : 0;
    }
    EXPECT_LE(fixed, 8);
    EXPECT_LE(successive, 8);
    EXPECT_NEAR(2500, low_first, 200);
}

TEST(Permutation, EveryOrderOfThreeOccurs) {
    const Permutation permutation{3, 1, 0};
    std::set<std::vector<std::int64_t>> orders;
    for (std::int64_t epoch = 0; epoch < 200; ++epoch) {
        orders.insert(order(permutation, epoch));
    }
    EXPECT_EQ(6u, orders.size());
}

TEST(Permutation, ServesHugeSizes) {
    const Permutation permutation{std::int64_t{1} << 62, 1, 0};
    const auto value = permutation.at(0, (std::int64_t{1} << 62) - 1);
    EXPECT_GE(value, 0);
    EXPECT_LT(value, std::int64_t{1} << 62);
    EXPECT_NE(value, permutation.at(0, 0));
}

TEST(Permutation, DrawsAllNumbersBelowABound) {
    const Permutation permutation{10, 1, 0};
    std::set<std::int64_t> drawn;
    for (std::int64_t epoch = 0; epoch < 200; ++epoch) {
        drawn.insert(permutation.draw(epoch, 7));
    }
    EXPECT_EQ((std::set<std::int64_t>{0, 1, 2, 3, 4, 5, 6}), drawn);
    EXPECT_EQ(0, permutation.draw(3, 1));
}

}  // namespace
}  // namespace ziggurat::data
