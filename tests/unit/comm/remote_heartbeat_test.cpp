#include "comm/watch/remote_heartbeat.hpp"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <poll.h>

#include "base/clock.hpp"

namespace ziggurat::comm {
namespace {

constexpr double patience = 100;
constexpr std::int64_t second_ns = 1'000'000'000;

/// A node of two ranks, and a rank of another node, represented by its link on this machine's loopback.
class FarQuestionsTest : public ::testing::Test {
  protected:
    HeartbeatLink far_{"zgb"};
    MonitoredRanks list_ = list_of(0);
    std::int64_t now_ns_ = monotonic_ns();

    MonitoredRanks list_of(std::size_t me) {
        MonitoredRanks list{.peers = {{0, 1, 0}, {1, 2, 0}},
                            .me = me,
                            .world_size = 3,
                            .host = "zga",
                            .board = NodeStatusBoard::create(2),
                            .is_shared = true,
                            .launcher = std::nullopt,
                            .link = std::make_unique<HeartbeatLink>("zga")};
        HostEndpoint card = far_.card();
        card.addresses = {htonl(INADDR_LOOPBACK)};
        far_.connect(7, {});
        list.link->connect(7, {{.rank = 2, .card = card, .is_asked = true}});
        return list;
    }
    /// Sets the time that rank 1 has waited.
    void waits(double seconds) {
        auto& activity = list_.line(1).activity;
        activity.since_ns = now_ns_ - static_cast<std::int64_t>(seconds * 1e9);
        activity.doing = seconds > 0 ? ActivityState::waits : ActivityState::works;
    }
    /// Returns true if a message arrives and is of the expected kind; questions are answered.
    static bool receives(HeartbeatLink& link, int timeout_ms) {
        pollfd asked{link.descriptor(), POLLIN, 0};
        const bool has_come = ::poll(&asked, 1, timeout_ms) > 0;
        link.receive();
        return has_come;
    }
    bool is_asked() { return receives(far_, 50); }
    void first_answer() {
        ASSERT_TRUE(receives(far_, 10'000));
        ASSERT_TRUE(receives(*list_.link, 10'000));
    }
};

TEST_F(FarQuestionsTest, AreAskedOnceARankOfTheMachineWaitsForLong) {
    RemoteHeartbeat questions{list_};
    first_answer();

    waits(29);
    questions.poll_once(now_ns_, patience);
    EXPECT_FALSE(is_asked());
    waits(31);
    questions.poll_once(now_ns_, patience);
    EXPECT_TRUE(is_asked());
}

TEST_F(FarQuestionsTest, AreAskedByOneRankOfTheMachine) {
    first_answer();
    MonitoredRanks second = list_of(1);
    ASSERT_TRUE(receives(far_, 10'000)) << "the question when they were connected";
    RemoteHeartbeat questions{second};

    second.line(1).activity.since_ns = now_ns_ - 60 * second_ns;
    second.line(1).activity.doing = ActivityState::waits;
    questions.poll_once(now_ns_, patience);
    EXPECT_FALSE(is_asked());
    second.is_shared = false;  // then each process knows only itself
    EXPECT_TRUE(second.asks_remote_nodes());
}

TEST_F(FarQuestionsTest, LeaveOnTheBoardWhoDoesNotAnswerAnyMore) {
    RemoteHeartbeat questions{list_};
    first_answer();
    now_ns_ = monotonic_ns();

    waits(31);
    questions.poll_once(now_ns_, patience);
    EXPECT_EQ("", list_.board.silent_remote_ranks()) << "it has had no time to answer";
    now_ns_ += second_ns;
    questions.poll_once(now_ns_, patience);
    EXPECT_EQ("rank 2 on zgb", list_.board.silent_remote_ranks());
    first_answer();
    now_ns_ += second_ns;
    questions.poll_once(now_ns_, patience);
    EXPECT_EQ("", list_.board.silent_remote_ranks()) << "it has answered since the first question";
}

TEST_F(FarQuestionsTest, BeginAnewAfterAWaitAndAfterASleep) {
    RemoteHeartbeat questions{list_};
    first_answer();
    now_ns_ = monotonic_ns();
    waits(31);
    questions.poll_once(now_ns_, patience);
    now_ns_ += second_ns;
    questions.poll_once(now_ns_, patience);
    ASSERT_EQ("rank 2 on zgb", list_.board.silent_remote_ranks());

    waits(0);
    questions.poll_once(now_ns_, patience);
    EXPECT_EQ("", list_.board.silent_remote_ranks());

    waits(31);
    questions.poll_once(now_ns_, patience);
    now_ns_ += 10 * second_ns;  // the process, or the machine, was suspended
    waits(41);
    questions.poll_once(now_ns_, patience);
    EXPECT_EQ("", list_.board.silent_remote_ranks()) << "nobody could have answered";
}

}  // namespace
}  // namespace ziggurat::comm
