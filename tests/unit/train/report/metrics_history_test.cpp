#include "train/report/metrics_history.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "base/error.hpp"
#include "base/file_handle.hpp"
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
    const std::string after =
        row("validate", 3) + row("step", 3) + row("checkpoint_end", 2) + row("step", 4) + row("stop", 4);
    put(folder, before + after);

    const auto cut = cut_metrics(folder.path(), 2);

    EXPECT_EQ(cut.lines, 5);
    EXPECT_EQ(cut.last_step, 4);
    EXPECT_EQ(cut.kept_in, folder.file("metrics.cut-1.jsonl"));
    EXPECT_EQ(test::contents_of(folder.file("metrics.jsonl")), before);
    EXPECT_EQ(test::contents_of(cut.kept_in), after);
}

TEST(CutMetrics, CutsNoFileThroughALink) {
    const test::ScratchFolder folder;
    const auto lines = row("step", 1) + row("step", 2) + row("step", 3);
    std::ofstream{folder.file("other")} << lines;
    std::filesystem::create_symlink("other", folder.file("metrics.jsonl"));

    EXPECT_THROW(cut_metrics(folder.path(), 2), Error);
    EXPECT_EQ(test::contents_of(folder.file("other")), lines);
    EXPECT_FALSE(std::filesystem::exists(folder.file("metrics.cut-1.jsonl")));
}

TEST(CutMetrics, LeavesEventsOfTheRun) {
    const test::ScratchFolder folder;
    const std::string events = row("spike", 4) + row("roll_back", 2) + row("warning", 4) + row("crash", 4);
    const std::string again = row("resume", 2) + row("step", 3) + row("step", 4) + row("end", 4);
    put(folder,
        row("step", 1) + row("step", 2) + row("warning", 3) + row("step", 3) + events + row("step", 4));

    EXPECT_EQ(cut_metrics(folder.path(), 2).last_step, 4);
    const auto first = row("step", 1) + row("step", 2) + row("warning", 3) + events;
    EXPECT_EQ(test::contents_of(folder.file("metrics.jsonl")), first);
    EXPECT_EQ(cut_metrics(folder.path(), 2).lines, 0) << "events that stayed start no cut";

    std::ofstream{folder.file("metrics.jsonl"), std::ios::app} << again;
    EXPECT_EQ(cut_metrics(folder.path(), 3).lines, 2);
    EXPECT_EQ(test::contents_of(folder.file("metrics.jsonl")),
              first + row("resume", 2) + row("step", 3) + row("end", 4));
}

TEST(CutMetrics, LeavesAFileAloneThatEndsWithTheStep) {
    const test::ScratchFolder folder;
    put(folder, start + row("step", 5));

    const auto cut = cut_metrics(folder.path(), 5);

    EXPECT_EQ(cut.lines, 0);
    EXPECT_EQ(cut.last_step, 5);
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

std::string missing(const std::string& text, std::int64_t step) {
    const test::ScratchFolder folder;
    put(folder, text);
    return cut_metrics(folder.path(), step).missing_steps;
}

TEST(CutMetrics, SaysWhichStepsHaveNoRow) {
    const auto rows = [](int first, int last) {
        std::string text;
        for (int step = first; step <= last; ++step) {
            text += row("step", step);
        }
        return text;
    };
    EXPECT_EQ(missing(start + rows(1, 8), 8), "");
    EXPECT_EQ(missing(start + rows(1, 9), 8), "");
    EXPECT_EQ(missing(start + rows(1, 4), 8), "5 to 8");
    EXPECT_EQ(missing(start + rows(1, 4) + rows(6, 7), 8), "5, 8");
    EXPECT_EQ(missing(start + rows(1, 4) + row("resume", 6) + start + rows(7, 8), 8), "") << "said before";
    EXPECT_EQ(missing(start + rows(101, 108), 108), "") << "its weights came from elsewhere";
    EXPECT_EQ(missing(start + rows(1, 2) + row("checkpoint_end", 8) + row("validate", 8), 8), "3 to 8");
    EXPECT_EQ(missing(start, 8), "1 to 8");
    EXPECT_EQ(missing(start, 0), "");
    EXPECT_EQ(
        missing(start + row("step", 1) + row("step", 3) + row("step", 5) + row("step", 7) + row("step", 9),
                12),
        "2, 4, 6, 8, ...");
}

TEST(CutMetrics, TakesNoMoreOfAStrangeFileThanItHas) {
    const test::ScratchFolder folder;
    const std::string rows = start + row("step", 1);
    const std::string deep = "{\"a\":" + std::string(100'000, '[') + std::string(100'000, ']') + "}\n";
    for (const std::string& strange : {deep, std::string(3 << 20, 'x') + "\n", std::string{"\xff\xfe\n"},
                                       std::string{"{\"event\":\"step\",\"step\":99999999999999999999}\n"},
                                       std::string{"{\"event\":\"step\",\"step\":18446744073709551615}\n"}}) {
        put(folder, rows + strange + row("step", 2));
        EXPECT_EQ(cut_metrics(folder.path(), 5).missing_steps, "2 to 5") << strange.substr(0, 40);
        EXPECT_EQ(test::contents_of(folder.file("metrics.jsonl")), rows) << strange.substr(0, 40);
    }
    put(folder, rows);
    std::filesystem::resize_file(folder.file("metrics.jsonl"), std::uintmax_t{1} << 40);
    const auto cut = cut_metrics(folder.path(), 1);
    EXPECT_EQ(test::contents_of(folder.file("metrics.jsonl")), rows);
    EXPECT_EQ(cut.lines, 1);
    EXPECT_EQ(std::filesystem::file_size(cut.kept_in), (std::uintmax_t{1} << 40) - rows.size())
        << "as a hole";
}

TEST(CutMetrics, WaitsForNobodyWhoWouldWriteTheFile) {
    const test::ScratchFolder folder;
    ASSERT_EQ(::mkfifo(folder.file("metrics.jsonl").c_str(), 0666), 0);
    EXPECT_THROW(cut_metrics(folder.path(), 1), Error);
    EXPECT_THROW(open_for_writing(folder.file("metrics.jsonl"), OpenMode::append), Error);
    EXPECT_NO_THROW(open_for_writing("/dev/null", OpenMode::append));
}

TEST(CutMetrics, HasNothingToDoWithoutAFile) {
    const test::ScratchFolder folder;
    EXPECT_EQ(cut_metrics(folder.path(), 9).lines, 0);
    EXPECT_FALSE(std::filesystem::exists(folder.file("metrics.jsonl")));
}

}  // namespace
}  // namespace ziggurat::train
