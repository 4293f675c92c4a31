#include "train/metrics_history.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/error.hpp"
#include "tests/support/scratch_folder.hpp"

namespace ziggurat::train {
namespace {

constexpr const char* start = "{\"event\":\"start\",\"steps\":100}\n";

std::string row(const char* event, int step) {
    return std::string{"{\"event\":\""} + event + "\",\"step\":" + std::to_string(step) + ",\"loss\":1.5}\n";
}

void put(const test::ScratchFolder& folder, const std::string& text) {
    std::ofstream{folder.file("metrics.jsonl")} << text;
}

TEST(CutMetrics, KeepsWhatComesAfterTheStepInAFileOfItsOwn) {
    const test::ScratchFolder folder;
    const std::string before = start + row("step", 1) + row("step", 2) + row("validate", 2);
    const std::string after = row("step", 3) + row("checkpoint_end", 2) + row("stop", 3);
    put(folder, before + after);

    const auto cut = cut_metrics(folder.path(), 2);

    EXPECT_EQ(cut.lines, 3);
    EXPECT_EQ(cut.kept_in, folder.file("metrics.cut-1.jsonl"));
    EXPECT_EQ(test::contents_of(folder.file("metrics.jsonl")), before);
    EXPECT_EQ(test::contents_of(cut.kept_in), after);
}

TEST(CutMetrics, LeavesAFileAloneThatEndsWithTheStep) {
    const test::ScratchFolder folder;
    put(folder, start + row("step", 5));

    const auto cut = cut_metrics(folder.path(), 5);

    EXPECT_EQ(cut.lines, 0);
    EXPECT_EQ(cut.kept_in, "");
    EXPECT_EQ(test::contents_of(folder.file("metrics.jsonl")), start + row("step", 5));
    EXPECT_FALSE(std::filesystem::exists(folder.file("metrics.cut-1.jsonl")));
}

TEST(CutMetrics, NeverTouchesWhatWasCutOffBefore) {
    const test::ScratchFolder folder;
    put(folder, row("step", 5) + row("step", 6));
    cut_metrics(folder.path(), 5);
    put(folder, row("step", 5) + row("step", 6) + row("step", 7));

    const auto cut = cut_metrics(folder.path(), 5);

    EXPECT_EQ(cut.kept_in, folder.file("metrics.cut-2.jsonl"));
    EXPECT_EQ(test::contents_of(folder.file("metrics.cut-1.jsonl")), row("step", 6));
    EXPECT_EQ(test::contents_of(folder.file("metrics.cut-2.jsonl")), row("step", 6) + row("step", 7));
}

TEST(CutMetrics, CutsALineThatIsNotWhole) {
    const test::ScratchFolder folder;
    put(folder, row("step", 1) + "{\"event\":\"step\",\"st");

    const auto cut = cut_metrics(folder.path(), 9);

    EXPECT_EQ(cut.lines, 1);
    EXPECT_EQ(test::contents_of(folder.file("metrics.jsonl")), row("step", 1));
    EXPECT_EQ(test::contents_of(cut.kept_in), "{\"event\":\"step\",\"st");
}

TEST(CutMetrics, CutsALineWithoutItsEndAlthoughItReadsWell) {
    const test::ScratchFolder folder;
    auto whole = row("step", 2);
    whole.pop_back();
    put(folder, row("step", 1) + whole);

    EXPECT_EQ(cut_metrics(folder.path(), 9).lines, 1);
    EXPECT_EQ(test::contents_of(folder.file("metrics.jsonl")), row("step", 1));
}

TEST(CutMetrics, HasNothingToDoWithoutAFile) {
    const test::ScratchFolder folder;
    EXPECT_EQ(cut_metrics(folder.path(), 9).lines, 0);
    EXPECT_FALSE(std::filesystem::exists(folder.file("metrics.jsonl")));
}

}  // namespace
}  // namespace ziggurat::train
