#include "storage/io_sweep.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "storage/direct_file.hpp"

namespace ziggurat::storage {
namespace {

TEST(ChoosePoint, TakesTheFewestBytesUnderWayWithinTwoPercent) {
    const auto point = choose_point({{1 << 20, 32, 100, 50},
                                     {1 << 20, 8, 99, 49.5},
                                     {1 << 18, 32, 99, 49.5},
                                     {1 << 18, 8, 97, 50},
                                     {1 << 16, 8, 99, 40}});

    EXPECT_EQ(point.block_bytes, 1 << 18);
    EXPECT_EQ(point.depth, 32);
}

TEST(ChoosePoint, TakesTheLeastLossWhereNoneIsBestAtBoth) {
    const auto point = choose_point({{4096, 1, 100, 10}, {4096, 2, 80, 90}, {4096, 4, 10, 100}});

    EXPECT_EQ(point.depth, 2);
}

TEST(ProbeOfDisks, MeasuresOnePairAndLeavesNothing) {
    const auto root = std::filesystem::current_path() / ("probe." + std::to_string(::getpid()));
    const std::vector<std::string> folders{root / "a", root / "b"};
    for (const auto& folder : folders) {
        std::filesystem::create_directories(folder);
    }
    const bool is_disk = DirectFile::create_unnamed(folders.front()).not_direct_reason().empty();

    const auto found = probe(folders, 1 << 16, 3);

    EXPECT_EQ(found.block_bytes, 1 << 16);
    EXPECT_EQ(found.depth, 3);
    EXPECT_EQ(found.read_rate > 0, is_disk);
    EXPECT_EQ(found.write_rate > 0, is_disk);
    for (const auto& folder : folders) {
        EXPECT_TRUE(std::filesystem::is_empty(folder));
    }
    std::filesystem::remove_all(root);
    EXPECT_THROW(probe(folders, 1 << 16, 3), Error);
}

TEST(SweepOfDisks, MeasuresEachPairAndLeavesNothing) {
    const auto root = std::filesystem::temp_directory_path() / ("sweep." + std::to_string(::getpid()));
    SweepOptions options{.folders = {root / "a", root / "b"}};
    for (const auto& folder : options.folders) {
        std::filesystem::create_directories(folder);
    }
    options.file_bytes = 1 << 20;
    options.block_bytes = {1 << 16, 1 << 21};  // one is larger than the files
    options.depths = {1, 3};
    int calls = 0;
    options.progress = [&calls](int done, int all) {
        EXPECT_EQ(done, calls++);
        EXPECT_EQ(all, 5);
    };

    const auto measured = sweep(options);

    EXPECT_EQ(calls, 5);
    ASSERT_EQ(measured.points.size(), 4u);
    for (const auto& point : measured.points) {
        EXPECT_GT(point.read_rate, 0);
        EXPECT_GT(point.write_rate, 0);
    }
    EXPECT_GT(measured.best.read_rate, 0);
    for (const auto& folder : options.folders) {
        EXPECT_TRUE(std::filesystem::is_empty(folder));
    }
    std::filesystem::remove_all(root);
    EXPECT_THROW(sweep(options), Error);
}

}  // namespace
}  // namespace ziggurat::storage
