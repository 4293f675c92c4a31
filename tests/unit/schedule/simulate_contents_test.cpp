#include "schedule/verify/simulate_contents.hpp"

#include <gtest/gtest.h>

namespace ziggurat::schedule::simulation {
namespace {

/// Returns elements 100 to 109 of four bytes each; the first and half of the second are overwritten.
Memory overwritten_in_front() {
    Memory memory;
    memory.write(0, 40, {.name = 1, .first = 100, .element_bytes = 4});
    memory.write(0, 6, {.name = 2, .element_bytes = 2});
    return memory;
}

TEST(Memory, KeepsTheNumbersOfElementsBehindOneThatIsHalfOverwritten) {
    Pieces first_after;
    overwritten_in_front().read(8, 40, 0, first_after);

    ASSERT_EQ(first_after.size(), 1U);
    EXPECT_EQ(first_after.front().content.name, 1U);
    EXPECT_EQ(first_after.front().content.first, 102);
}

TEST(Memory, KeepsWhatIsCutWithinAnElementInOnePiece) {
    const auto memory = overwritten_in_front();
    Pieces rest;
    memory.read(6, 21, 0, rest);
    memory.read(21, 40, 15, rest);

    EXPECT_EQ(rest.size(), 1U);
}

}  // namespace
}  // namespace ziggurat::schedule::simulation
