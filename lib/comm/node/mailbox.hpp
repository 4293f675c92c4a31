/// Messages from one rank of a node to another, told apart by tags.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>
#include <vector>

#include "comm/node/peer_arenas.hpp"
#include "comm/node/seat_channel.hpp"

namespace ziggurat::comm {

/// Description of a message by its sender.
struct Message {
    std::int32_t tag = 0;
    std::uint64_t number = 0;  ///< in the sender's order: equal tags are taken in this order
    std::int64_t bytes = 0;
    SharedPlace place = {};  ///< not shared: it comes in another way
};

/// The messages under way from one member to another. Lies in shared memory; zeroed memory is an empty one.
///
/// A slot belongs to the sender while it is empty and to the receiver while it is full.
struct alignas(64) Mailbox {
    static constexpr int num_slots = 16;

    struct alignas(64) Slot {
        std::atomic<std::uint32_t> is_full{0};
        Message message;
    };

    std::array<Slot, num_slots> slots;
};

/// A group's seats and, at [from * size + to], its mailboxes.
struct GroupSeats {
    SeatGroup seats = {};
    std::vector<Mailbox*> mailboxes = {};
};

/// Puts a message into a slot that the sender knows to be empty. Numbers grow from message to message.
void leave_message(Mailbox& box, Bell& receiver, int slot, const Message& message) noexcept;

/// The slot with the oldest message of this tag, if there is one. Only the receiver asks.
std::optional<int> find_message(const Mailbox& box, int tag) noexcept;

/// The receiver has copied what the slot names: the sender may overwrite it.
void take_message(Mailbox& box, Bell& sender, int slot) noexcept;

/// Only the sender asks, for a slot that it has filled.
inline bool is_taken(const Mailbox& box, int slot) noexcept {
    return box.slots[static_cast<std::size_t>(slot)].is_full.load(std::memory_order_acquire) == 0;
}

}  // namespace ziggurat::comm
