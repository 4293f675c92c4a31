#include "tests/fuzz/rounds.hpp"

#include <gtest/gtest.h>

namespace ziggurat::test {
namespace {

TEST(Rounds, PutEachRunOnConsecutiveRanksOfTheFirstRoundThatHasRoom) {
    const auto rounds = rounds_of({4, 6, 2, 1, 7, 1}, 7);

    EXPECT_EQ(rounds,
              (std::vector<Round>{{0, 0, 0, 0, 2, 2, 3}, {1, 1, 1, 1, 1, 1, 5}, {4, 4, 4, 4, 4, 4, 4}}));
}

TEST(Rounds, LetRanksLookOnThatNoRunHasRoomFor) {
    EXPECT_EQ(rounds_of({3, 2}, 4), (std::vector<Round>{{0, 0, 0, -1}, {1, 1, -1, -1}}));
}

}  // namespace
}  // namespace ziggurat::test
