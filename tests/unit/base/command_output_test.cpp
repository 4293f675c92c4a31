#include "base/process/command_output.hpp"

#include <gtest/gtest.h>

#include <chrono>

namespace ziggurat {
namespace {

TEST(CommandOutput, IsWhatTheCommandPrints) {
    EXPECT_EQ(command_output({"printf", "%s-%s\\n", "one", "two words"}, 10), "one-two words\n");
    EXPECT_EQ(command_output({"true"}, 10), "");
}

TEST(CommandOutput, IsNothingWhereTheCommandIsMissingOrFails) {
    EXPECT_EQ(command_output({"no-such-command-of-ziggurat"}, 10), std::nullopt);
    EXPECT_EQ(command_output({"false"}, 10), std::nullopt);
    EXPECT_EQ(command_output({"sh", "-c", "echo half; exit 3"}, 10), std::nullopt);
    EXPECT_EQ(command_output({}, 10), std::nullopt);
}

TEST(CommandOutput, DoesNotWaitForever) {
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_EQ(command_output({"sleep", "600"}, 0.05), std::nullopt);
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds{300});
}

TEST(CommandOutput, ReadsMoreThanAPipeHolds) {
    const auto text = command_output({"head", "-c", "60000", "/dev/zero"}, 10);
    ASSERT_TRUE(text);
    EXPECT_EQ(text->size(), 60000U);
}

}  // namespace
}  // namespace ziggurat
