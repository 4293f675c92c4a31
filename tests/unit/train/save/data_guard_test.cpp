#include "train/save/data_guard.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ziggurat::train {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

data::FileFingerprint file(const std::string& path, std::int64_t bytes, std::uint64_t hash) {
    return {"data.train[0].path", path, bytes, bytes, hash};
}

TEST(DescribeDifferentData, HasNothingToSayOfEqualNodes) {
    const std::vector<data::FileFingerprint> files{file("a", 1000, 1), file("b", 2000, 2)};
    EXPECT_EQ("", describe_different_data({{0, "one", files}, {2, "two", files}}));
}

TEST(DescribeDifferentData, NamesFileSizesRanksAndHosts) {
    const auto text = describe_different_data(
        {{0, "one", {file("text.txt", 1000, 1)}}, {2, "two", {file("text.txt", 999, 2)}}, {4, "three", {}}});
    EXPECT_THAT(
        text,
        StartsWith("data.train[0].path: 'text.txt' is not the same on all nodes (1,000 bytes for rank 0 on "
                   "one; 999 bytes for rank 2 on two; missing for rank 4 on three)."));
}

TEST(DescribeDifferentData, OtherBytesOfTheSameSizeAreSaid) {
    const auto text =
        describe_different_data({{0, "one", {file("a", 1000, 1)}}, {2, "two", {file("a", 1000, 2)}}});
    EXPECT_THAT(text,
                HasSubstr("(1,000 bytes for rank 0 on one; same size, but other bytes for rank 2 on two)"));
}

TEST(DescribeDifferentData, StaysShortWhateverDiffers) {
    std::vector<DataOfNode> nodes;
    for (int node = 0; node < 100; ++node) {
        nodes.push_back({node, "host" + std::to_string(node), {}});
        for (int f = 0; f < 50; ++f) {
            nodes.back().files.push_back(file("file\x1b" + std::to_string(f), 1000 + node, 1));
        }
    }
    const auto text = describe_different_data(nodes);
    EXPECT_THAT(text, AllOf(HasSubstr("; 95 more)"), HasSubstr(" and 46 more"), Not(HasSubstr("\x1b"))));
    EXPECT_LT(text.size(), 600U);
}

}  // namespace
}  // namespace ziggurat::train
