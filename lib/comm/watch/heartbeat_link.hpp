/// HeartbeatLink: datagrams between ranks of different nodes: abort reasons and heartbeats.
///
/// They supplement MPI, whose connections do not report a peer that is killed or stopped. They require IPv4
/// between the nodes without a firewall. Otherwise, ranks know about other nodes only what the launcher and
/// MPI report.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "comm/watch/node_status_board.hpp"

namespace ziggurat::comm {

/// Addresses and port of a rank; sent over MPI as plain integers.
struct HostEndpoint {
    std::uint64_t token = 0;                   ///< token of the job; datagrams with other tokens are ignored
    std::uint64_t port = 0;                    ///< 0: not reachable
    std::array<std::uint32_t, 6> addresses{};  ///< IPv4, in network byte order; 0: unused
    std::array<char, 64> host{};
};

/// Reason why a rank of another node aborts the job.
struct RemoteAbort {
    int exit_code = 0;
    bool is_failure = false;  ///< the rank has failed, and reports its error; else it names another rank
    std::string text = {};
};

/// Socket of one rank, and the ranks of other nodes.
class HeartbeatLink {
  public:
    /// Opens a socket for this rank. If that fails, card() is not reachable.
    explicit HeartbeatLink(std::string_view host);

    const HostEndpoint& card() const noexcept { return card_; }
    int descriptor() const noexcept { return socket_.get(); }

    /// Rank of another node.
    struct RemoteRank {
        int rank = 0;
        HostEndpoint card;
        bool is_asked = false;            ///< this rank sends heartbeat requests to it
        std::int64_t asked_ns = 0;        ///< time of the last request; 0: none yet
        std::int64_t received_ns = 0;     ///< time of the last answer; 0: none yet
        std::uint32_t received_from = 0;  ///< source address of the last answer
    };
    /// Sets the ranks of other nodes, and sends the first heartbeat requests.
    void connect(std::uint64_t token, std::vector<RemoteRank> far);

    /// Sends a verdict to all ranks of other nodes, twice, because there are no acknowledgements.
    void tell(const RemoteAbort& verdict) const noexcept;
    /// Sends heartbeat requests, each to the source address of the last answer.
    ///
    /// If the last request was not answered, it is sent to all addresses of the rank.
    void ask() noexcept;
    /// Receives all datagrams and answers requests. Returns the first verdict, if any. Never waits.
    std::optional<RemoteAbort> receive();
    /// Returns the names of ranks that have answered before `since_ns` but not after it; may be empty.
    std::string describe_silent(std::int64_t since_ns) const;

    /// Size of a request and of an answer; a verdict has its text in addition.
    static constexpr std::size_t question_bytes = 24;

  private:
    struct Message;
    /// \param text  number of bytes of the message's text to send
    void send(const Message& message, std::size_t text, const HostEndpoint& to) const noexcept;
    void note_answer(std::uint64_t port, std::uint32_t from) noexcept;

    HostEndpoint card_;
    FileHandle socket_;
    std::uint64_t token_ = 0;
    std::vector<RemoteRank> far_;
};

}  // namespace ziggurat::comm
