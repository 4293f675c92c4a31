/// Hang detection of a rank, with a clock and processes made up by the test.
#include "comm/watch/hang_watch.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace ziggurat::comm {
namespace {

constexpr double patience = 600;  // seconds

/// Ranks 0, 1, ... of one node, with the processes 100, 101, ...; the watch is that of rank 0.
class HangWatchTest : public testing::Test {
  protected:
    void watch(int ranks) {
        list_.emplace(MonitoredRanks{.peers = {},
                                     .me = 0,
                                     .world_size = ranks,
                                     .host = "machine",
                                     .board = NodeStatusBoard::create(ranks),
                                     .is_shared = true,
                                     .launcher = std::nullopt});
        for (int rank = 0; rank < ranks; ++rank) {
            list_->peers.push_back({.rank = rank, .pid = 100 + rank});
            processes_[100 + rank] = ProcessState{.code = 'S'};
        }
        list_->sight = {.state = [this](pid_t pid) { return std::optional{processes_.at(pid)}; },
                        .io_bytes = [this](pid_t pid) { return io_bytes_[pid]; }};
        ended_.assign(static_cast<std::size_t>(ranks), false);
        watch_.emplace(*list_, now_ns_);
    }
    void rank(int rank, ActivityState doing, const std::string& what) {
        auto& activity = list_->line(static_cast<std::size_t>(rank)).activity;
        activity.doing = doing;
        activity.what.store(what);
        activity.since_ns = now_ns_;
    }
    ProcessState& process(int rank) { return processes_.at(100 + rank); }

    /// Advances the clock by `seconds` with a check at every tick. Returns the first verdict.
    std::optional<HangDiagnosis> after(
        double seconds, const std::function<void()>& meanwhile = [] {}) {
        const std::int64_t end = now_ns_ + static_cast<std::int64_t>(seconds * 1e9);
        std::optional<HangDiagnosis> printed;
        while (now_ns_ < end) {
            now_ns_ += std::min(HangWatch::tick_ns(patience), end - now_ns_);
            meanwhile();
            auto verdict = watch_->poll_once(now_ns_, {patience, stopped_patience_}, ended_);
            verdicts_ += verdict ? 1 : 0;
            printed = printed ? printed : verdict;
        }
        return printed;
    }

    std::optional<MonitoredRanks> list_;
    std::optional<HangWatch> watch_;
    std::map<pid_t, ProcessState> processes_;
    std::map<pid_t, std::int64_t> io_bytes_;
    std::vector<bool> ended_;
    std::int64_t now_ns_ = 1'000'000'000'000;
    int verdicts_ = 0;
    double stopped_patience_ = patience;
};

bool says(const std::optional<HangDiagnosis>& verdict, const std::string& part) {
    return verdict && verdict->text.find(part) != std::string::npos;
}

TEST_F(HangWatchTest, NamesAStoppedRankBeforePatienceEnds) {
    watch(3);
    rank(0, ActivityState::waits, "all_reduce of 'norm'");
    rank(1, ActivityState::waits, "all_reduce of 'norm'");
    rank(2, ActivityState::works, "layer 3 backward");
    process(2).code = 'T';

    EXPECT_FALSE(after(0.79 * patience));
    const auto verdict = after(0.02 * patience);

    EXPECT_TRUE(verdict && verdict->leaves && verdict->culprit == 2);
    EXPECT_TRUE(says(verdict, "rank 2 (pid 102): state T = stopped (SIGSTOP), was 48")) << verdict->text;
}

TEST_F(HangWatchTest, NamesAStoppedNeighbourThoughItDoesNotWaitItself) {
    watch(3);
    rank(0, ActivityState::works, "a call of a library");
    process(1).code = 'T';

    EXPECT_FALSE(after(0.79 * patience));
    const auto verdict = after(0.02 * patience);

    EXPECT_TRUE(verdict && verdict->leaves && verdict->culprit == 1);
}

TEST_F(HangWatchTest, HasATimeoutOfItsOwnForStoppedRanks) {
    stopped_patience_ = patience / 60;
    watch(2);
    rank(0, ActivityState::waits, "the deck of rank 0");
    rank(1, ActivityState::works, "reading a deck for long");
    EXPECT_FALSE(after(0.7 * patience)) << "a wait has the whole timeout";
    process(1).code = 'T';

    const auto verdict = after(0.02 * patience);

    EXPECT_TRUE(verdict && verdict->leaves && verdict->culprit == 1);
}

TEST_F(HangWatchTest, LooksPastANeighbourThatHasFinished) {
    watch(3);
    ended_[1] = true;
    process(1).code = 'T';
    process(2).code = 'T';

    const auto verdict = after(0.81 * patience);

    EXPECT_TRUE(verdict && verdict->culprit == 2);
}

TEST_F(HangWatchTest, ForgetsAStopThatEnded) {
    watch(2);
    process(1).code = 'T';
    EXPECT_FALSE(after(0.7 * patience));
    process(1).code = 'R';
    EXPECT_FALSE(after(1));
    process(1).code = 'T';

    EXPECT_FALSE(after(0.7 * patience));
}

TEST_F(HangWatchTest, DoesNotCountTimeInWhichTheLauncherIsStopped) {
    watch(2);
    list_->launcher = 99;
    processes_[99] = ProcessState{.code = 'T'};
    rank(0, ActivityState::waits, "x");
    rank(1, ActivityState::works, "a line that nobody reads");
    EXPECT_FALSE(after(5 * patience));

    processes_[99].code = 'S';
    EXPECT_FALSE(after(0.79 * patience));
    EXPECT_TRUE(says(after(0.03 * patience), "uses no CPU time"));
}

TEST_F(HangWatchTest, OnlyReportsARankThatComputesUntilItNeverComesToAnEnd) {
    watch(2);
    rank(0, ActivityState::waits, "x");
    rank(1, ActivityState::works, "a long op");
    const auto computes = [this] { process(1).cpu_ticks += 1000; };

    const auto first = after(0.81 * patience, computes);

    ASSERT_TRUE(first);
    EXPECT_FALSE(first->leaves);
    EXPECT_TRUE(says(first, "into 'a long op', and computes or accesses files. Still waiting."))
        << first->text;
    after((max_rounds - 1) * 0.82 * patience, computes);
    EXPECT_EQ(max_rounds, verdicts_);
    const auto last = after(0.82 * patience, computes);
    EXPECT_TRUE(last && last->leaves && last->culprit == 1);
    EXPECT_TRUE(says(last, "is busy but does not finish")) << last->text;
}

TEST_F(HangWatchTest, TakesFilesThatMoveForWork) {
    watch(2);
    rank(0, ActivityState::waits, "x");
    rank(1, ActivityState::works, "a save");

    const auto verdict = after(0.81 * patience, [this] { ++io_bytes_[101]; });

    EXPECT_TRUE(verdict && !verdict->leaves);
}

TEST_F(HangWatchTest, NamesARankThatDoesNothing) {
    watch(3);
    rank(0, ActivityState::waits, "x");
    rank(1, ActivityState::waits, "x");
    rank(2, ActivityState::works, "a call of a library");
    process(2).cpu_ticks = 1'000'000;  // used long ago
    io_bytes_[102] = 1'000'000;

    const auto verdict = after(0.81 * patience);

    EXPECT_TRUE(verdict && verdict->leaves && verdict->culprit == 2);
    EXPECT_TRUE(says(verdict, "uses no CPU time")) << verdict->text;
}

TEST_F(HangWatchTest, ALittleOfAProcessorIsNoWork) {
    watch(2);
    rank(0, ActivityState::waits, "x");
    rank(1, ActivityState::works, "a thread that polls");
    const std::int64_t ticks_per_second = ::sysconf(_SC_CLK_TCK);
    std::int64_t looks = 0;

    const auto verdict = after(0.81 * patience, [&] {  // once per second: half a percent
        process(1).cpu_ticks = ++looks * ticks_per_second / 200;
    });

    EXPECT_TRUE(verdict && verdict->leaves && verdict->culprit == 1);
}

TEST_F(HangWatchTest, OnlyReportsARankWhoseDeviceComputes) {
    watch(2);
    rank(0, ActivityState::waits, "x");
    rank(1, ActivityState::device_busy, "layer 3");

    const auto verdict = after(0.81 * patience);

    EXPECT_TRUE(verdict && !verdict->leaves);
    EXPECT_TRUE(says(verdict, "into 'layer 3', and computes or accesses files. Still waiting."))
        << verdict->text;
}

TEST_F(HangWatchTest, EndsAWaitThatAllShare) {
    watch(2);
    rank(0, ActivityState::waits, "a");
    rank(1, ActivityState::waits, "b");

    const auto verdict = after(0.81 * patience);

    EXPECT_TRUE(verdict && verdict->leaves && verdict->culprit == -1);
    EXPECT_TRUE(says(verdict, "deadlock: every rank waits for another rank or for a transfer"))
        << verdict->text;
}

TEST_F(HangWatchTest, EndsTheWaitOfARankThatIsAlone) {
    watch(1);
    rank(0, ActivityState::waits, "a read");

    const auto verdict = after(0.81 * patience);

    EXPECT_TRUE(verdict && verdict->leaves);
    EXPECT_TRUE(says(verdict, "for 'a read', a transfer of its own. Check the disks")) << verdict->text;
}

TEST_F(HangWatchTest, EachWaitHasItsOwnPatience) {
    watch(2);
    rank(1, ActivityState::waits, "b");
    for (int wait = 0; wait < 5; ++wait) {
        rank(0, ActivityState::waits, "a");
        EXPECT_FALSE(after(0.7 * patience)) << wait;
        rank(0, ActivityState::works, "an op");
        EXPECT_FALSE(after(1)) << wait;
    }
}

TEST_F(HangWatchTest, TimeInWhichItDidNotRunItselfDoesNotCount) {
    watch(2);
    rank(0, ActivityState::waits, "a");
    rank(1, ActivityState::waits, "b");
    EXPECT_FALSE(after(0.7 * patience));
    now_ns_ += HangWatch::longest_pause_ns(patience) + 2'000'000'000;  // the machine was suspended

    EXPECT_FALSE(after(0.7 * patience));
    const auto verdict = after(0.12 * patience);
    EXPECT_TRUE(verdict && verdict->leaves);
}

TEST_F(HangWatchTest, OneWarningOfTheFirstThatWaitsIsEnough) {
    watch(3);
    rank(0, ActivityState::waits, "x");
    rank(1, ActivityState::waits, "x");
    rank(2, ActivityState::works, "a long op");
    list_->me = 1;

    EXPECT_FALSE(after(3 * patience, [this] { process(2).cpu_ticks += 1000; }));
}

}  // namespace
}  // namespace ziggurat::comm
