#include "comm/watch/heartbeat_link.hpp"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "base/clock.hpp"

namespace ziggurat::comm {
namespace {

using ::testing::HasSubstr;

/// Two links on this machine's loopback, which is not a named network card.
class HostLinkTest : public ::testing::Test {
  protected:
    HeartbeatLink a_{"zga"};
    HeartbeatLink b_{"zgb"};

    static HostEndpoint on_loopback(const HeartbeatLink& link) {
        HostEndpoint card = link.card();
        card.addresses = {htonl(INADDR_LOOPBACK)};
        return card;
    }
    void connect(std::uint64_t token_of_b) {
        b_.connect(token_of_b, {{.rank = 0, .card = on_loopback(a_)}});
        a_.connect(1, {{.rank = 5, .card = on_loopback(b_), .is_asked = true}});
    }
    /// Returns the message that arrives within `timeout_ms`.
    static std::optional<RemoteAbort> receive(HeartbeatLink& link, int timeout_ms) {
        pollfd asked{link.descriptor(), POLLIN, 0};
        return ::poll(&asked, 1, timeout_ms) > 0 ? link.receive() : std::nullopt;
    }
};

constexpr int long_ms = 10'000;  // for expected messages
constexpr int short_ms = 50;     // for unexpected messages

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

/// A rank of another node, as seen through its datagrams.
///
/// It is a socket with two addresses, of which only the first is reachable.
class Datagrams {
  public:
    Datagrams() {
        sockaddr_in any{};
        any.sin_family = AF_INET;
        any.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t length = sizeof any;
        EXPECT_EQ(0, ::bind(socket_.get(), reinterpret_cast<sockaddr*>(&any), sizeof any));
        EXPECT_EQ(0, ::getsockname(socket_.get(), reinterpret_cast<sockaddr*>(&any), &length));
        card_.port = any.sin_port;
        card_.addresses = {htonl(INADDR_LOOPBACK), htonl(INADDR_LOOPBACK)};
    }

    const HostEndpoint& card() const { return card_; }
    /// Returns the lengths of the datagrams received so far.
    std::vector<ssize_t> lengths() {
        std::vector<ssize_t> found;
        std::array<std::byte, 1024> bytes{};
        pollfd asked{socket_.get(), POLLIN, 0};
        while (::poll(&asked, 1, found.empty() ? 10'000 : 50) > 0) {
            socklen_t length = sizeof from_;
            found.push_back(::recvfrom(socket_.get(), bytes.data(), bytes.size(), 0,
                                       reinterpret_cast<sockaddr*>(&from_), &length));
            std::copy_n(bytes.begin(), HeartbeatLink::question_bytes, last_.begin());
        }
        return found;
    }
    /// Sends the last question back as an answer.
    void answer() {
        constexpr std::int32_t answer_kind = 4;
        std::memcpy(last_.data() + 8, &answer_kind, sizeof answer_kind);
        std::memcpy(last_.data() + 16, &card_.port, sizeof card_.port);
        from_.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        EXPECT_EQ(std::ssize(last_), ::sendto(socket_.get(), last_.data(), last_.size(), 0,
                                              reinterpret_cast<sockaddr*>(&from_), sizeof from_));
    }

  private:
    FileHandle socket_{::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)};
    HostEndpoint card_;
    sockaddr_in from_{};
    std::array<std::byte, HeartbeatLink::question_bytes> last_{};
};

TEST_F(HostLinkTest, QuestionsAreShortAndGoWhereTheLastAnswerCameFrom) {
    constexpr ssize_t question = HeartbeatLink::question_bytes;
    Datagrams far;

    a_.connect(1, {{.rank = 5, .card = far.card(), .is_asked = true}});
    EXPECT_EQ((std::vector<ssize_t>{question, question}), far.lengths()) << "to both of its addresses";
    far.answer();
    receive(a_, long_ms);
    a_.ask();
    EXPECT_EQ(std::vector<ssize_t>{question}, far.lengths()) << "to the one that has answered";
    a_.ask();
    EXPECT_EQ((std::vector<ssize_t>{question, question}), far.lengths()) << "it has not answered any more";
    a_.tell({.exit_code = 6, .text = "four"});
    EXPECT_EQ(std::vector<ssize_t>(4, question + 4), far.lengths()) << "twice, to both";
}

TEST_F(HostLinkTest, WhoOnceAnsweredAndDoesNotAnyMoreIsSilent) {
    connect(1);
    EXPECT_EQ("", a_.describe_silent(monotonic_ns()));  // it never answered: a firewall is possible
    receive(b_, long_ms);
    receive(a_, long_ms);
    const auto received = monotonic_ns();
    EXPECT_EQ("", a_.describe_silent(received - 1'000'000'000));
    a_.ask();
    EXPECT_EQ("rank 5 on zgb", a_.describe_silent(received));
    receive(b_, long_ms);
    receive(a_, long_ms);
    EXPECT_EQ("", a_.describe_silent(received));
}

}  // namespace
}  // namespace ziggurat::comm
