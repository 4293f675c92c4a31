#include "train/ops/path_use.hpp"

#include <gtest/gtest.h>

namespace ziggurat::train {
namespace {

NvmePathStats use(const char* path, PathFlow read, PathFlow written = {}) {
    return {path, read, written};
}

TEST(SlowPath, IsNamedWithTheRatesOfBoth) {
    const std::vector<NvmePathStats> paths{use("/fast", {100, 400'000'000, 1}),
                                           use("/slow", {100, 400'000'000, 10})};
    const auto text = slow_path(paths);
    EXPECT_NE(text.find("'/slow' is slow (reads run at 40 MB/s, those of '/fast' at 400 MB/s)"),
              std::string::npos)
        << text;
}

TEST(SlowPath, MayBeSlowInOneDirectionAlone) {
    const PathFlow same{1000, 1'000'000'000, 2};
    const std::vector<NvmePathStats> paths{use("/a", same, {64, 64'000'000, 4}), use("/b", same, same)};
    const auto text = slow_path(paths);
    EXPECT_NE(text.find("'/a' is slow (writes run at 16 MB/s, those of '/b' at 500 MB/s)"), std::string::npos)
        << text;
}

TEST(SlowPath, IsNoneWhereItMayBeChance) {
    const PathFlow fast{100, 400'000'000, 1};
    EXPECT_EQ(slow_path({}), "");
    EXPECT_EQ(slow_path(std::vector{use("/a", fast)}), "");
    // Less than three times slower, too few blocks, or too short a time.
    EXPECT_EQ(slow_path(std::vector{use("/a", fast), use("/b", {100, 400'000'000, 2.9})}), "");
    EXPECT_EQ(slow_path(std::vector{use("/a", fast), use("/b", {63, 4'000'000, 10})}), "");
    EXPECT_EQ(slow_path(std::vector{use("/a", {100, 400'000'000, 0.01}), use("/b", {100, 400'000'000, 0.9})}),
              "");
}

TEST(PathTable, AddsUpRanksAndSaysNothingOfOnePath) {
    const std::vector<NvmePathStats> first{use("/a", {1, 1'000'000'000, 1}), use("/b", {1, 500'000'000, 1})};
    const std::vector<NvmePathStats> second{use("/a", {1, 1'000'000'000, 3}, {1, 2'000'000'000, 1})};
    EXPECT_EQ(path_table(std::vector{first, second}),
              " '/a'  read 500 MB/s, written 2000 MB/s\n '/b'  read 500 MB/s, written 0 MB/s\n");
    EXPECT_EQ(path_table(std::vector<std::vector<NvmePathStats>>{second}), "");
}

}  // namespace
}  // namespace ziggurat::train
