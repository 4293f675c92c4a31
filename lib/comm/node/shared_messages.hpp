/// Sends and receives of one group through the mailboxes of a node.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "comm/collectives.hpp"
#include "comm/node/mailbox.hpp"
#include "comm/node/peer_arenas.hpp"

namespace ziggurat::comm {

/// The receiver copies straight from the sender's memory. Where that is not shared, the mailbox only says
/// that the message comes another way. Calls no MPI; allocates only in add().
///
/// Between two members and of one tag, messages are received in the order of their sends. At most
/// Mailbox::num_slots of a direction are under way; further sends queue.
class SharedMessages {
  public:
    SharedMessages(GroupSeats group, std::string group_name);

    int add(CollectiveCall call);

    /// Moves at the next progress().
    void start(int message);
    /// False if nothing could move.
    ///
    /// Errors: Error{internal} when sender and receiver mean messages of different lengths
    bool progress();
    bool is_complete(int message) const { return at(message).state == State::idle; }

    /// A send from memory that the receiver cannot see: the owner of this carries it in another way.
    bool is_carried_elsewhere(int message) const;
    /// A receive that has found such a send: to be carried in another way from now on. True once; the message
    /// is complete here.
    bool must_be_fetched(int message);

    std::int64_t bytes_moved(int message) const { return at(message).bytes_moved; }

  private:
    enum class State { idle, started, posted };

    struct Traffic {
        CollectiveCall call;
        SharedPlace place;  ///< of a send
        State state = State::idle;
        std::uint64_t number = 0;
        int slot = -1;
        bool must_be_fetched = false;
        std::int64_t bytes_moved = 0;
    };

    const Traffic& at(int message) const { return messages_.at(static_cast<std::size_t>(message)); }
    Mailbox& box(int from, int to) const {
        return *group_.mailboxes[static_cast<std::size_t>(from * group_.seats.size() + to)];
    }
    bool advance_send(Traffic& message);
    bool advance_receive(Traffic& message);
    /// No earlier receive waits for the same sender and tag.
    bool is_first_of_its_tag(const Traffic& receive) const;

    GroupSeats group_;
    std::string group_name_;
    std::vector<Traffic> messages_;
    std::vector<int> running_;  ///< in the order of starts
    std::vector<std::array<bool, Mailbox::num_slots>>
        is_occupied_;  ///< by receiver: slots whose end is unseen
    std::uint64_t num_started_ = 0;
};

}  // namespace ziggurat::comm
