#include "comm/watch/watchdog.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace ziggurat::comm {
namespace {

RankReport waiting(int rank, char state = 'S') {
    return {.rank = rank,
            .pid = 100 + rank,
            .state = ProcessState{.code = state},
            .is_waiting = true,
            .seconds = 3,
            .what = "sum " + std::to_string(rank)};
}

RankReport busy(int rank, char state, bool has_moved) {
    auto report = waiting(rank, state);
    report.is_waiting = false;
    report.what = "op " + std::to_string(rank);
    report.has_moved = has_moved;
    return report;
}

/// Returns a rank whose own thread waits for its device, and uses no CPU time.
RankReport busy_meanwhile(int rank) {
    auto report = busy(rank, 'S', false);
    report.device_busy = true;
    return report;
}

bool says(const HangDiagnosis& verdict, const std::string& part) {
    return verdict.text.find(part) != std::string::npos;
}

TEST(DiagnoseHang, BlamesAStoppedRankBeforeOneThatComputes) {
    const std::vector reports{waiting(0), busy(1, 'R', true), busy(2, 'T', false), waiting(3)};

    const auto verdict = diagnose_hang(reports, 0, 0, 0);

    EXPECT_TRUE(verdict.leaves);
    EXPECT_EQ(2, verdict.culprit);
    EXPECT_TRUE(says(verdict, "rank 2 (pid 102): state T = stopped (SIGSTOP), was 3.0 s into 'op 2'"))
        << verdict.text;
    EXPECT_TRUE(says(verdict, "kill -CONT 102"));
}

TEST(DiagnoseHang, BlamesARankThatWasStoppedWhileItWaited) {
    const std::vector reports{waiting(0), waiting(1, 'T')};

    const auto verdict = diagnose_hang(reports, 0, 0, 0);

    EXPECT_TRUE(verdict.leaves);
    EXPECT_EQ(1, verdict.culprit);
    EXPECT_TRUE(says(verdict, "waited 3.0 s for 'sum 1'")) << verdict.text;
}

TEST(DiagnoseHang, OnlyReportsARankUnderADebugger) {
    const std::vector reports{waiting(0), busy(1, 't', false)};

    const auto verdict = diagnose_hang(reports, 0, 0, 1000);

    EXPECT_FALSE(verdict.leaves);
    EXPECT_EQ(1, verdict.culprit);
    EXPECT_TRUE(says(verdict, "held by a debugger")) << verdict.text;
}

TEST(DiagnoseHang, LetsARankComputeButNotForEver) {
    const std::vector reports{waiting(0), busy(1, 'R', true)};

    EXPECT_FALSE(diagnose_hang(reports, 0, 0, 0).leaves);
    EXPECT_FALSE(diagnose_hang(reports, 0, 0, max_rounds - 1).leaves);
    EXPECT_TRUE(diagnose_hang(reports, 0, 0, max_rounds).leaves);
    EXPECT_EQ(1, diagnose_hang(reports, 0, 0, 0).culprit);
}

TEST(DiagnoseHang, BlamesARankThatNeitherWaitsNorComputes) {
    const std::vector reports{waiting(0), busy(1, 'R', true), busy(2, 'D', false)};

    const auto verdict = diagnose_hang(reports, 0, 0, 0);

    EXPECT_TRUE(verdict.leaves);
    EXPECT_EQ(2, verdict.culprit);
    EXPECT_TRUE(says(verdict, "waiting for a disk")) << verdict.text;
}

TEST(DiagnoseHang, LetsADeviceOfARankComputeThoughTheRankItselfSleeps) {
    const std::vector reports{waiting(0), busy_meanwhile(1)};

    const auto verdict = diagnose_hang(reports, 0, 0, 0);

    EXPECT_FALSE(verdict.leaves);
    EXPECT_EQ(1, verdict.culprit);
    EXPECT_TRUE(says(verdict, "was 3.0 s into 'op 1'")) << verdict.text;
    EXPECT_TRUE(diagnose_hang(reports, 0, 0, max_rounds).leaves);
    EXPECT_EQ(ErrorKind::resource, diagnose_hang(reports, 0, 0, max_rounds).kind);
}

TEST(DiagnoseHang, BlamesTheDeviceOfTheRankThatWaitsForIt) {
    for (const auto& reports : {std::vector{busy_meanwhile(0)}, std::vector{busy_meanwhile(0), waiting(1)}}) {
        const auto verdict = diagnose_hang(reports, 0, 0, 0);
        const auto last = diagnose_hang(reports, 0, 0, max_rounds);

        EXPECT_FALSE(verdict.leaves);
        EXPECT_TRUE(says(verdict, "'op 0' has not completed")) << verdict.text;
        EXPECT_TRUE(last.leaves);
        EXPECT_EQ(0, last.culprit);
        EXPECT_EQ(ErrorKind::resource, last.kind);
        EXPECT_TRUE(says(last, "Check the device, or raise run.hang_timeout.")) << last.text;
    }
}

TEST(DiagnoseHang, BlamesAStoppedRankBeforeADevice) {
    EXPECT_EQ(1, diagnose_hang(std::vector{busy_meanwhile(0), waiting(1, 'T')}, 0, 0, 0).culprit);
}

TEST(DiagnoseHang, ShowsTheCircleWhenAllWait) {
    const std::vector reports{waiting(0), waiting(1), waiting(2)};

    const auto verdict = diagnose_hang(reports, 1, 0, 0);

    EXPECT_TRUE(verdict.leaves);
    EXPECT_EQ(-1, verdict.culprit);
    EXPECT_TRUE(says(verdict, "rank 0 (pid 100) waited 3.0 s for 'sum 0'")) << verdict.text;
    EXPECT_TRUE(says(verdict, "rank 2 (pid 102) waited 3.0 s for 'sum 2'"));
    EXPECT_FALSE(says(verdict, "rank 1")) << "who judges says elsewhere what it waited for";
}

TEST(DiagnoseHang, SaysWhatItCannotKnowOfOtherMachines) {
    const std::vector reports{waiting(0), waiting(1)};

    const auto verdict = diagnose_hang(reports, 0, 6, 0);

    EXPECT_TRUE(verdict.leaves);
    EXPECT_TRUE(says(verdict, "the state of the 6 ranks on other nodes is unknown")) << verdict.text;
}

TEST(DiagnoseHang, NeverBlamesItself) {
    const std::vector reports{busy(0, 'T', false), waiting(1)};

    EXPECT_EQ(-1, diagnose_hang(reports, 0, 0, 0).culprit);
}

TEST(DiagnoseHang, NamesWhoOfAnotherMachineDoesNotAnswer) {
    const std::vector reports{waiting(0), waiting(1)};

    const auto verdict = diagnose_hang(reports, 0, 2, 0, "rank 2 on zgb");

    EXPECT_TRUE(verdict.leaves);
    EXPECT_EQ(-1, verdict.culprit);
    EXPECT_TRUE(says(verdict, "no rank on this node is the cause, and rank 2 on zgb does not respond"))
        << verdict.text;
    EXPECT_TRUE(says(diagnose_hang(reports, 0, 2, 0), "the state of the 2 ranks on other nodes is unknown"));
}

}  // namespace
}  // namespace ziggurat::comm
