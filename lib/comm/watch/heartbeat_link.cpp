#include "comm/watch/heartbeat_link.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <random>
#include <type_traits>

#include "base/clock.hpp"
#include "base/text/printable.hpp"

namespace ziggurat::comm {
namespace {

/// Maximum number of ranks that a message names.
constexpr int max_named = 4;

enum class MessageKind : std::int32_t { verdict = 1, failure, question, answer };

/// Returns the IPv4 addresses of this node that other nodes may reach.
std::array<std::uint32_t, 6> own_addresses() {
    std::array<std::uint32_t, 6> found{};
    ifaddrs* all = nullptr;
    if (::getifaddrs(&all) != 0) {
        return found;
    }
    std::size_t count = 0;
    for (const ifaddrs* one = all; one != nullptr && count < found.size(); one = one->ifa_next) {
        if (one->ifa_addr != nullptr && one->ifa_addr->sa_family == AF_INET &&
            (one->ifa_flags & IFF_UP) != 0 && (one->ifa_flags & IFF_LOOPBACK) == 0) {
            sockaddr_in address{};
            std::memcpy(&address, one->ifa_addr, sizeof address);
            found[count++] = address.sin_addr.s_addr;
        }
    }
    ::freeifaddrs(all);
    return found;
}

std::string name_in(const HostEndpoint& card) {
    return printable({card.host.data(), ::strnlen(card.host.data(), card.host.size())});
}

}  // namespace

/// Datagram, sent without the unused part of its text. All nodes of a job have the same byte order.
struct HeartbeatLink::Message {
    std::uint64_t token = 0;
    MessageKind kind = MessageKind::question;
    std::int32_t exit_code = 0;
    std::uint64_t port = 0;  ///< port of the sender; identifies the rank of an answer
    std::array<char, 504> text{};

    static constexpr std::size_t head_bytes = question_bytes;
};

HeartbeatLink::HeartbeatLink(std::string_view host)
    : socket_{::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)} {
    std::copy_n(host.begin(), std::min(host.size(), card_.host.size()), card_.host.begin());
    sockaddr_in any{};
    any.sin_family = AF_INET;
    any.sin_addr.s_addr = htonl(INADDR_ANY);
    socklen_t length = sizeof any;
    if (!socket_ || ::bind(socket_.get(), reinterpret_cast<sockaddr*>(&any), sizeof any) != 0 ||
        ::getsockname(socket_.get(), reinterpret_cast<sockaddr*>(&any), &length) != 0) {
        socket_ = {};
        return;
    }
    std::random_device random;
    card_.token = std::uint64_t{random()} << 32 | random();
    card_.port = any.sin_port;
    card_.addresses = own_addresses();
}

void HeartbeatLink::connect(std::uint64_t token, std::vector<RemoteRank> far) {
    token_ = token;
    far_ = std::move(far);
    ask();
}

void HeartbeatLink::send(const Message& message, std::size_t text, const HostEndpoint& to) const noexcept {
    static_assert(std::is_trivially_copyable_v<Message> && offsetof(Message, text) == Message::head_bytes);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = static_cast<in_port_t>(to.port);
    for (const std::uint32_t reachable_at : to.addresses) {
        if (socket_ && to.port != 0 && reachable_at != 0) {
            address.sin_addr.s_addr = reachable_at;
            ::sendto(socket_.get(), &message, Message::head_bytes + text, MSG_NOSIGNAL,
                     reinterpret_cast<const sockaddr*>(&address), sizeof address);
        }
    }
}

void HeartbeatLink::tell(const RemoteAbort& verdict) const noexcept {
    Message message{.token = token_,
                    .kind = verdict.is_failure ? MessageKind::failure : MessageKind::verdict,
                    .exit_code = verdict.exit_code,
                    .port = card_.port};
    const std::size_t text = std::min(verdict.text.size(), message.text.size());
    std::copy_n(verdict.text.begin(), text, message.text.begin());
    for (int time = 0; time < 2; ++time) {
        for (const RemoteRank& far : far_) {
            send(message, text, far.card);
        }
    }
}

void HeartbeatLink::ask() noexcept {
    for (RemoteRank& far : far_) {
        if (far.is_asked) {
            HostEndpoint to = far.card;
            if (far.received_ns > far.asked_ns) {
                to.addresses = {far.received_from};
            }
            far.asked_ns = monotonic_ns();
            send({.token = token_, .kind = MessageKind::question, .port = card_.port}, 0, to);
        }
    }
}

std::optional<RemoteAbort> HeartbeatLink::receive() {
    std::optional<RemoteAbort> verdict;
    while (socket_) {
        Message message;
        sockaddr_in from{};
        socklen_t length = sizeof from;
        const ssize_t bytes = ::recvfrom(socket_.get(), &message, sizeof message, 0,
                                         reinterpret_cast<sockaddr*>(&from), &length);
        if (bytes < 0) {
            break;
        }
        if (bytes < static_cast<ssize_t>(Message::head_bytes) || message.token != token_ || token_ == 0) {
            continue;  // of another job, or received before connect()
        }
        if (message.kind == MessageKind::question) {
            HostEndpoint back{.port = from.sin_port};
            back.addresses[0] = from.sin_addr.s_addr;
            send({.token = token_, .kind = MessageKind::answer, .port = card_.port}, 0, back);
        } else if (message.kind == MessageKind::answer) {
            note_answer(message.port, from.sin_addr.s_addr);
        } else if (!verdict) {
            const std::size_t size = ::strnlen(message.text.data(), message.text.size());
            verdict = RemoteAbort{.exit_code = message.exit_code,
                                  .is_failure = message.kind == MessageKind::failure,
                                  .text = {message.text.data(), size}};
        }
    }
    return verdict;
}

void HeartbeatLink::note_answer(std::uint64_t port, std::uint32_t from) noexcept {
    for (RemoteRank& far : far_) {
        const auto& addresses = far.card.addresses;
        if (far.card.port == port && std::ranges::find(addresses, from) != addresses.end()) {
            far.received_ns = monotonic_ns();
            far.received_from = from;
        }
    }
}

std::string HeartbeatLink::describe_silent(std::int64_t since_ns) const {
    std::string text;
    int silent = 0;
    for (const RemoteRank& far : far_) {
        if (far.is_asked && far.received_ns > 0 && far.received_ns < since_ns && ++silent <= max_named) {
            text +=
                (text.empty() ? "rank " : ", rank ") + std::to_string(far.rank) + " on " + name_in(far.card);
        }
    }
    return silent > max_named ? text + " and " + std::to_string(silent - max_named) + " more" : text;
}

}  // namespace ziggurat::comm
