/// Datagrams between ranks of different machines: what one has to say before it leaves, and whether it still
/// runs.
///
/// A help beside MPI, whose connections say nothing of a peer that is killed or stopped. It needs IPv4
/// between the nodes and no firewall there; without, ranks know of other machines what the launcher and MPI
/// tell them.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "comm/watch/machine_board.hpp"

namespace ziggurat::comm {

/// Where a rank can be reached; travels as plain words.
struct HostCard {
    std::uint64_t token = 0;                   ///< of the job, by which strangers are told apart
    std::uint64_t port = 0;                    ///< 0: nowhere
    std::array<std::uint32_t, 6> addresses{};  ///< IPv4, in the order of the network; 0: none
    std::array<char, 64> host{};
};

/// Why a rank of another machine ends the job.
struct FarVerdict {
    int exit_code = 0;
    bool is_failure = false;  ///< it has failed by itself, and says why: else it names another rank
    std::string text = {};
};

class HostLink {
  public:
    /// Opens a socket for this rank; without one, card() leads nowhere.
    explicit HostLink(std::string_view host);

    const HostCard& card() const noexcept { return card_; }
    int descriptor() const noexcept { return socket_.get(); }

    /// A rank of another machine.
    struct Far {
        int rank = 0;
        HostCard card;
        bool is_asked = false;  ///< this rank asks it whether it runs; one for each machine
        std::int64_t heard_ns = 0;
        std::int64_t answers = 0;
    };
    /// Who is elsewhere, and asks those to be asked for the first time.
    void connect(std::uint64_t token, std::vector<Far> far);

    /// Tells all ranks of other machines, twice: nobody acknowledges anything, for who tells it leaves.
    void tell(const FarVerdict& verdict) const noexcept;
    /// Asks the ranks to be asked whether they run.
    void ask() const noexcept;
    /// Takes in what has arrived, and answers who asks; the first verdict, if there is one. Never waits.
    std::optional<FarVerdict> receive();
    /// The ranks that once answered and have not since; empty when there are none.
    std::string describe_silent(std::int64_t since_ns) const;

  private:
    struct Message;
    void send(const Message& message, const HostCard& to) const noexcept;

    HostCard card_;
    FileHandle socket_;
    std::uint64_t token_ = 0;
    std::vector<Far> far_;
};

}  // namespace ziggurat::comm
