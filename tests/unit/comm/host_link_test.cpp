#include "comm/watch/host_link.hpp"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>

#include "base/clock.hpp"

namespace ziggurat::comm {
namespace {

using ::testing::HasSubstr;

/// Two links on this machine's loopback, which no card names by itself.
class HostLinkTest : public ::testing::Test {
  protected:
    HostLink a_{"zga"};
    HostLink b_{"zgb"};

    static HostCard on_loopback(const HostLink& link) {
        HostCard card = link.card();
        card.addresses = {htonl(INADDR_LOOPBACK)};
        return card;
    }
    void connect(std::uint64_t token_of_b) {
        b_.connect(token_of_b, {{.rank = 0, .card = on_loopback(a_)}});
        a_.connect(1, {{.rank = 5, .card = on_loopback(b_), .is_asked = true}});
    }
    /// What arrives within a while.
    static std::optional<FarVerdict> receive(HostLink& link, int patience_ms) {
        pollfd asked{link.descriptor(), POLLIN, 0};
        return ::poll(&asked, 1, patience_ms) > 0 ? link.receive() : std::nullopt;
    }
};

constexpr int long_ms = 10'000;  // for what must come
constexpr int short_ms = 50;     // for what must not

TEST_F(HostLinkTest, ToldVerdictsArrive) {
    connect(1);
    receive(b_, long_ms);  // the first question
    receive(a_, long_ms);  // and its answer
    const std::string text(600, 'x');
    b_.tell({.exit_code = 6, .is_failure = false, .text = text});
    const auto verdict = receive(a_, long_ms);

    ASSERT_TRUE(verdict);
    EXPECT_EQ(6, verdict->exit_code);
    EXPECT_FALSE(verdict->is_failure);
    EXPECT_EQ(text.substr(0, 504), verdict->text);
    a_.tell({.exit_code = 2, .is_failure = true, .text = "short"});
    const auto failure = receive(b_, long_ms);
    ASSERT_TRUE(failure);
    EXPECT_TRUE(failure->is_failure);
    EXPECT_EQ("short", failure->text);
}

TEST_F(HostLinkTest, StrangersAreNotHeard) {
    connect(2);
    b_.tell({.exit_code = 6, .text = "of another job"});
    EXPECT_FALSE(receive(a_, short_ms));
}

TEST_F(HostLinkTest, WhoOnceAnsweredAndDoesNotAnyMoreIsSilent) {
    connect(1);
    EXPECT_EQ("", a_.describe_silent(monotonic_ns()));  // it never answered: there may be a wall
    receive(b_, long_ms);
    receive(a_, long_ms);
    const auto heard = monotonic_ns();
    EXPECT_EQ("", a_.describe_silent(heard - 1'000'000'000));
    a_.ask();
    EXPECT_EQ("rank 5 on zgb", a_.describe_silent(heard));
    receive(b_, long_ms);
    receive(a_, long_ms);
    EXPECT_EQ("", a_.describe_silent(heard));
}

}  // namespace
}  // namespace ziggurat::comm
