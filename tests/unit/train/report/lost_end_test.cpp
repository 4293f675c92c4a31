#include "train/report/lost_end.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "base/clock.hpp"
#include "base/file_handle.hpp"
#include "tests/support/scratch_folder.hpp"

namespace ziggurat::train {
namespace {

std::string row(const char* event, int step, double time) {
    return std::string{"{\"event\":\""} + event + "\",\"step\":" + std::to_string(step) +
           ",\"time\":" + std::to_string(time) + "}\n";
}

void put(const test::ScratchFolder& folder, const std::string& name, const std::string& text) {
    std::ofstream{folder.file(name)} << text;
}

TEST(LostEnd, IsOfAJobThatHasNotToldItsEnd) {
    const test::ScratchFolder folder;
    EXPECT_FALSE(find_lost_end(folder.path())) << "there was no job";
    const double now = calendar_seconds();
    put(folder, "metrics.jsonl", row("step", 7, now) + row("end", 7, now));
    EXPECT_FALSE(find_lost_end(folder.path()));
    put(folder, "metrics.jsonl", row("end", 3, now) + row("step", 8, now) + "{\"event\":\"st");

    const auto lost = find_lost_end(folder.path());

    ASSERT_TRUE(lost);
    EXPECT_EQ(lost->step, 8);
    EXPECT_NE(lost->reason.find("reason unknown"), std::string::npos) << lost->reason;
}

TEST(LostEnd, HasTheReasonThatARankHasLeft) {
    const test::ScratchFolder folder;
    const double now = calendar_seconds();
    std::filesystem::create_directory(folder.file("errors"));
    put(folder, "errors/rank00002.log", "2026-01-01 00:00:00 UTC error: rank 2: rank 0 has died\n");
    put(folder, "metrics.jsonl", row("step", 8, now));
    EXPECT_EQ(find_lost_end(folder.path()).value().reason, "rank 2: rank 0 has died");

    put(folder, "metrics.jsonl", row("step", 8, now + 3600));
    EXPECT_NE(find_lost_end(folder.path()).value().reason, "rank 2: rank 0 has died")
        << "that is of an earlier job";
}

TEST(LostEnd, HasTheSignalThatCameBeforeIt) {
    const test::ScratchFolder folder;
    const double now = calendar_seconds();
    const std::string signal =
        "{\"event\":\"signal\",\"time\":1,\"signal\":\"SIGTERM\",\"level\":1,\"step\":8}\n";
    put(folder, "metrics.jsonl", row("step", 8, now) + signal);
    EXPECT_EQ(find_lost_end(folder.path()).value().reason,
              "SIGTERM requested a stop, and the job was killed before it ended");

    put(folder, "metrics.jsonl", signal + row("start", 8, now) + row("step", 9, now));
    EXPECT_NE(find_lost_end(folder.path()).value().reason.find("reason unknown"), std::string::npos)
        << "that is of an earlier job";
}

TEST(LostEnd, IsToldByAnotherRankUnlessTheFirstHoldsTheFolder) {
    const test::ScratchFolder folder;
    const auto before = row("step", 8, 1);
    put(folder, "metrics.jsonl", before);
    {
        const FileHandle first{::open(folder.path().c_str(), O_RDONLY | O_DIRECTORY)};
        ASSERT_EQ(::flock(first.get(), LOCK_EX | LOCK_NB), 0);
        EXPECT_TRUE(is_a_job_in(folder.path()));
        report_for_first_rank(folder.path(), 6, "error: rank 1: rank 0 has died",
                              "touch " + folder.file("early"));
        EXPECT_EQ(test::contents_of(folder.file("metrics.jsonl")), before);
    }
    EXPECT_FALSE(is_a_job_in(folder.path()));

    report_for_first_rank(folder.path(), 6, "error: rank 1: rank 0 has died", "touch " + folder.file("told"));
    report_for_first_rank(folder.path(), 6, "error: rank 2: rank 0 has died",
                          "touch " + folder.file("again"));

    EXPECT_FALSE(find_lost_end(folder.path()));
    const auto after = test::contents_of(folder.file("metrics.jsonl"));
    EXPECT_NE(after.find("\"event\":\"crash\""), std::string::npos) << after;
    EXPECT_EQ(after.find("rank 2"), std::string::npos) << "the first to tell is enough: " << after;
    EXPECT_EQ(test::contents_of(folder.file("run.log")), "ziggurat: error: rank 1: rank 0 has died\n");
    for (int i = 0; i < 12'000 && !std::filesystem::exists(folder.file("told")); ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds{10});
    }
    EXPECT_TRUE(std::filesystem::exists(folder.file("told"))) << "the command of run.on_event";
    EXPECT_FALSE(std::filesystem::exists(folder.file("early")));
    EXPECT_FALSE(std::filesystem::exists(folder.file("again")));
}

}  // namespace
}  // namespace ziggurat::train
