/// Mailbox: messages from one rank of a node to another, distinguished by tags.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>
#include <vector>

#include "comm/node/peer_arenas.hpp"
#include "comm/node/shared_channel.hpp"

namespace ziggurat::comm {

/// Description of a message, written by its sender.
struct Message {
    std::int32_t tag = 0;
    std::uint64_t number = 0;  ///< in the sender's order: messages of equal tag are received in this order
    std::int64_t bytes = 0;
    ArenaAddress arena_address = {};  ///< not shared: the message is sent over MPI
};

/// Messages in flight from one member to another, in shared memory. Zeroed memory is an empty mailbox.
///
/// The sender owns a slot while it is empty, the receiver while it is full.
struct alignas(64) Mailbox {
    static constexpr int num_slots = 16;

    struct alignas(64) Slot {
        std::atomic<std::uint32_t> is_full{0};
        Message message;
    };

    std::array<Slot, num_slots> slots;
};

/// Seats of a group and its mailboxes; the mailbox of a pair has index from * size + to.
struct GroupSlots {
    ChannelGroup seats = {};
    std::vector<Mailbox*> mailboxes = {};
};

/// Writes a message into an empty slot and rings the receiver. Numbers grow from message to message.
void leave_message(Mailbox& box, EventCount& receiver, int slot, const Message& message) noexcept;

/// Returns the slot with the oldest message of this tag, if one exists. Called only by the receiver.
std::optional<int> find_message(const Mailbox& box, int tag) noexcept;

/// Empties a slot after the receiver has copied its data.
///
/// The sender may then overwrite the data and the slot.
void take_message(Mailbox& box, EventCount& sender, int slot) noexcept;

/// True if the receiver has emptied the slot. Called only by the sender, for a slot that it has filled.
inline bool is_taken(const Mailbox& box, int slot) noexcept {
    return box.slots[slot].is_full.load(std::memory_order_acquire) == 0;
}

}  // namespace ziggurat::comm
