/// Datagrams between ranks of different machines: the reason why one leaves, and whether it still runs.
///
/// A help beside MPI, whose connections say nothing of a peer that is killed or stopped. It needs IPv4
/// between the nodes and no firewall there; without, ranks know of other machines only as much as the
/// launcher and MPI tell them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "comm/watch/machine_board.hpp"

namespace ziggurat::comm {

/// Addresses and port at which a rank can be reached; travels as plain words.
struct HostCard {
    std::uint64_t token = 0;                   ///< of the job; datagrams without it are strangers'
    std::uint64_t port = 0;                    ///< 0: nowhere
    std::array<std::uint32_t, 6> addresses{};  ///< IPv4, in the order of the network; 0: none
    std::array<char, 64> host{};
};

/// Reason why a rank of another machine ends the job.
struct FarVerdict {
    int exit_code = 0;
    bool is_failure = false;  ///< it has failed by itself, and says why: else it names another rank
    std::string text = {};
};

/// One rank's socket, and the ranks of other machines.
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
        bool is_asked = false;         ///< this rank asks it whether it runs
        std::int64_t asked_ns = 0;     ///< last question; 0: none yet
        std::int64_t heard_ns = 0;     ///< last answer; 0: none yet
        std::uint32_t heard_from = 0;  ///< address that the last answer came from
    };
    /// Takes the ranks of other machines, and asks those to be asked for the first time.
    void connect(std::uint64_t token, std::vector<Far> far);

    /// Tells all ranks of other machines, twice: nobody acknowledges anything, for this rank leaves.
    void tell(const FarVerdict& verdict) const noexcept;
    /// Asks the ranks to be asked whether they run: at the address that the last answer came from, or at all
    /// of their addresses when there was no answer to the last question.
    void ask() noexcept;
    /// Takes in what has arrived, and answers questions; the first verdict, if there is one. Never waits.
    std::optional<FarVerdict> receive();
    /// Names of the ranks that have answered before `since_ns` and not after it; empty when there are none.
    std::string describe_silent(std::int64_t since_ns) const;

    /// Bytes of a question and of an answer; a verdict has its text besides.
    static constexpr std::size_t question_bytes = 24;

  private:
    struct Message;
    /// \param text  bytes of the message's text that are sent
    void send(const Message& message, std::size_t text, const HostCard& to) const noexcept;
    void note_answer(std::uint64_t port, std::uint32_t from) noexcept;

    HostCard card_;
    FileHandle socket_;
    std::uint64_t token_ = 0;
    std::vector<Far> far_;
};

}  // namespace ziggurat::comm
