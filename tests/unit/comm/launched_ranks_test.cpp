#include "comm/watch/launched_ranks.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

namespace ziggurat::comm {
namespace {

/// Returns an environment in the format of the system.
std::string environment(std::initializer_list<const char*> entries) {
    std::string text;
    for (const char* entry : entries) {
        text += entry;
        text += '\0';
    }
    return text;
}

TEST(LaunchedRank, IsReadFromWhatTheLauncherSets) {
    const auto rank = parse_launched_rank(
        environment({"HOME=/root", "XPMIX_NAMESPACE=7", "PMIX_NAMESPACE=4711", "OMPI_COMM_WORLD_RANK=12",
                     "EMPTY=", "OMPI_COMM_WORLD_LOCAL_SIZE=8"}));

    ASSERT_TRUE(rank.has_value());
    EXPECT_EQ((LaunchedRank{"4711", 12, 8}), *rank);
}

TEST(LaunchedRank, IsNoneWithoutALauncher) {
    EXPECT_FALSE(parse_launched_rank(""));
    EXPECT_FALSE(parse_launched_rank(
        environment({"PMIX_NAMESPACE=4711", "OMPI_COMM_WORLD_RANK=x", "OMPI_COMM_WORLD_LOCAL_SIZE=8"})));
    EXPECT_FALSE(
        parse_launched_rank(environment({"OMPI_COMM_WORLD_RANK=1", "OMPI_COMM_WORLD_LOCAL_SIZE=8"})));
}

TEST(MissingRanks, AreNamedOnOneMachineAndCountedOnSeveral) {
    const LaunchedRank mine{"4711", 0, 4};

    EXPECT_FALSE(describe_missing_ranks(mine, {3, 1, 0, 2}, 4));
    EXPECT_FALSE(describe_missing_ranks(mine, {3, 1, 0, 2, 2}, 4))
        << "a rank may have started a copy of itself";
    EXPECT_EQ(0u, describe_missing_ranks(mine, {3, 0, 3}, 4)->find("rank 1, rank 2 died while"));
    EXPECT_EQ(0u, describe_missing_ranks(mine, {3, 1, 0}, 8)->find("1 of the 4 ranks of this node died"));
}

TEST(MissingRanks, AreLookedForAmongTheProcessesOfThisProgram) {
    // A process's environment in /proc is that of its start: here, without a rank.
    unsetenv("PMIX_NAMESPACE");
    EXPECT_FALSE(find_missing_ranks(4));
}

}  // namespace
}  // namespace ziggurat::comm
