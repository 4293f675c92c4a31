#include "comm/node/mailbox.hpp"

namespace ziggurat::comm {

void leave_message(Mailbox& box, EventCount& receiver, int slot, const Message& message) noexcept {
    auto& filled = box.slots[slot];
    filled.message = message;
    filled.is_full.store(1, std::memory_order_seq_cst);
    notify(receiver);
}

std::optional<int> find_message(const Mailbox& box, int tag) noexcept {
    const auto oldest_seen = [&] {
        std::optional<int> oldest;
        for (int s = 0; s < Mailbox::num_slots; ++s) {
            const auto& slot = box.slots[s];
            if (slot.is_full.load(std::memory_order_acquire) != 0 && slot.message.tag == tag &&
                (!oldest || slot.message.number < box.slots[*oldest].message.number)) {
                oldest = s;
            }
        }
        return oldest;
    };
    // The sender may fill a slot that was already passed and then one not yet reached, which has the younger
    // message. All messages older than one that was seen were posted before it, so a second scan finds them.
    return oldest_seen() ? oldest_seen() : std::nullopt;
}

void take_message(Mailbox& box, EventCount& sender, int slot) noexcept {
    box.slots[slot].is_full.store(0, std::memory_order_seq_cst);
    notify(sender);
}

}  // namespace ziggurat::comm
