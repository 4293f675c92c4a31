#include "comm/mailbox.hpp"

namespace ziggurat::comm {

std::optional<int> leave_message(Mailbox& box,
                                 Bell& receiver,
                                 int tag,
                                 std::uint64_t number,
                                 std::int64_t bytes,
                                 const SharedPlace& place) {
    for (int s = 0; s < Mailbox::num_slots; ++s) {
        auto& slot = box.slots[static_cast<std::size_t>(s)];
        if (slot.is_full.load(std::memory_order_acquire) == 0) {
            slot.tag = tag;
            slot.number = number;
            slot.bytes = bytes;
            slot.place = place;
            slot.is_full.store(1, std::memory_order_seq_cst);
            ring(receiver);
            return s;
        }
    }
    return std::nullopt;
}

std::optional<int> find_message(const Mailbox& box, int tag) noexcept {
    std::optional<int> oldest;
    for (int s = 0; s < Mailbox::num_slots; ++s) {
        const auto& slot = box.slots[static_cast<std::size_t>(s)];
        if (slot.is_full.load(std::memory_order_acquire) != 0 && slot.tag == tag &&
            (!oldest || slot.number < box.slots[static_cast<std::size_t>(*oldest)].number)) {
            oldest = s;
        }
    }
    return oldest;
}

void take_message(Mailbox& box, Bell& sender, int slot) noexcept {
    box.slots[static_cast<std::size_t>(slot)].is_full.store(0, std::memory_order_seq_cst);
    ring(sender);
}

}  // namespace ziggurat::comm
