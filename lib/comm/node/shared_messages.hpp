/// SharedMessages: sends and receives of one group through the mailboxes of a node.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "comm/collectives.hpp"
#include "comm/node/mailbox.hpp"
#include "comm/node/peer_arenas.hpp"

namespace ziggurat::comm {

/// Sends and receives in which the receiver copies from the sender's memory.
///
/// If that memory is not shared, the mailbox only announces a message that is sent over MPI. This class does
/// not call MPI, and allocates only in add().
///
/// Messages of one tag between two members are received in the order of their sends. At most
/// Mailbox::num_slots messages of a direction are in flight; further sends queue.
class SharedMessages {
  public:
    SharedMessages(GroupSlots group, std::string group_name);

    int add(CollectiveCall call);

    /// Starts a message; it makes progress at the next progress().
    void start(int message);
    /// Makes progress on all messages; returns false if nothing changed.
    ///
    /// Errors: Error{internal} if sender and receiver use different lengths
    bool progress();
    bool is_complete(int message) const { return at(message).state == State::idle; }

    /// True for a send from memory that the receiver cannot access: the caller must send it over MPI.
    bool is_carried_by_mpi(int message) const;
    /// True, once, for a receive that matched such a send: the caller must receive it over MPI.
    ///
    /// The message is complete here.
    bool must_be_fetched(int message);

    std::int64_t bytes_moved(int message) const { return at(message).bytes_moved; }

  private:
    enum class State { idle, started, posted };

    struct Traffic {
        CollectiveCall call;
        ArenaAddress arena_address;  ///< of a send
        State state = State::idle;
        std::uint64_t number = 0;
        int slot = -1;
        bool must_be_fetched = false;
        std::int64_t bytes_moved = 0;
    };

    const Traffic& at(int message) const { return messages_.at(message); }
    Mailbox& box(int from, int to) const { return *group_.mailboxes[from * group_.seats.size() + to]; }
    bool advance_send(Traffic& message);
    bool advance_receive(Traffic& message);
    /// True if no earlier receive waits for the same sender and tag.
    bool is_first_of_its_tag(const Traffic& receive) const;

    GroupSlots group_;
    std::string group_name_;
    std::vector<Traffic> messages_;
    std::vector<int> running_;  ///< in the order of starts
    /// By receiver: slots whose end was not yet observed.
    std::vector<std::array<bool, Mailbox::num_slots>> is_occupied_;
    std::uint64_t num_started_ = 0;
};

}  // namespace ziggurat::comm
