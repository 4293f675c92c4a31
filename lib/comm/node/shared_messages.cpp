#include "comm/node/shared_messages.hpp"

#include <algorithm>
#include <utility>

#include "base/contract.hpp"
#include "base/error.hpp"
#include "comm/node/shared_sum.hpp"

namespace ziggurat::comm {

SharedMessages::SharedMessages(GroupSlots group, std::string group_name)
    : group_{std::move(group)}, group_name_{std::move(group_name)}, is_occupied_(group_.seats.seats.size()) {}

int SharedMessages::add(CollectiveCall call) {
    ZG_EXPECTS(is_between_two(call.kind));
    Traffic message;
    if (call.kind == CollectiveKind::send) {
        const int me = group_.seats.local_rank_of[group_.seats.me];
        message.arena_address = group_.seats.arenas->find(
            me, call.input + call.input_offset_bytes + call.blocks[0].offset_bytes, call.blocks[0].bytes);
    }
    message.call = std::move(call);
    messages_.push_back(std::move(message));
    running_.reserve(messages_.size());
    return static_cast<int>(messages_.size()) - 1;
}

bool SharedMessages::is_carried_by_mpi(int message) const {
    const Traffic& asked = at(message);
    return asked.call.kind == CollectiveKind::send && !asked.arena_address.is_shared();
}

bool SharedMessages::must_be_fetched(int message) {
    return std::exchange(messages_.at(message).must_be_fetched, false);
}

void SharedMessages::start(int message) {
    Traffic& started = messages_.at(message);
    ZG_EXPECTS(started.state == State::idle && !started.must_be_fetched);
    started.state = State::started;
    started.number = num_started_++;
    running_.push_back(message);
}

bool SharedMessages::progress() {
    // In the order of starts. The end of a slot's use is observed before the slot is filled again.
    bool has_moved = false;
    for (const int running : running_) {
        Traffic& message = messages_[running];
        const bool moved =
            message.call.kind == CollectiveKind::send ? advance_send(message) : advance_receive(message);
        has_moved = moved || has_moved;
    }
    if (has_moved) {
        std::erase_if(running_, [this](int message) { return is_complete(message); });
    }
    return has_moved;
}

bool SharedMessages::advance_send(Traffic& message) {
    const std::size_t peer = message.call.peer;
    Mailbox& to = box(group_.seats.me, message.call.peer);
    auto& is_occupied = is_occupied_[peer];
    if (message.state == State::posted) {
        if (!is_taken(to, message.slot)) {
            return false;
        }
        is_occupied[message.slot] = false;
        message.state = State::idle;
        return true;
    }
    // A slot is free when its last send has observed its end, so earlier sends are advanced first.
    const auto free = std::find(is_occupied.begin(), is_occupied.end(), false);
    if (free == is_occupied.end()) {
        return false;
    }
    *free = true;
    message.slot = static_cast<int>(free - is_occupied.begin());
    leave_message(to, *group_.seats.bells[peer], message.slot,
                  {.tag = message.call.tag,
                   .number = message.number,
                   .bytes = message.call.blocks[0].bytes,
                   .arena_address = message.arena_address});
    message.state = State::posted;
    return true;
}

bool SharedMessages::is_first_of_its_tag(const Traffic& receive) const {
    // A message that arrived after an earlier receive found no match belongs to that receive.
    return std::ranges::none_of(running_, [&](int running) {
        const Traffic& other = at(running);
        return other.call.kind == CollectiveKind::receive && other.state == State::started &&
               other.call.peer == receive.call.peer && other.call.tag == receive.call.tag &&
               other.number < receive.number;
    });
}

bool SharedMessages::advance_receive(Traffic& message) {
    Mailbox& from = box(message.call.peer, group_.seats.me);
    const auto found = find_message(from, message.call.tag);
    if (!found || !is_first_of_its_tag(message)) {
        return false;
    }
    const std::size_t sender = message.call.peer;
    const Message& left = from.slots[*found].message;
    const Block& block = message.call.blocks[0];
    if (left.bytes != block.bytes) {
        throw Error{ErrorKind::internal,
                    "member " + std::to_string(message.call.peer) + " of " + group_name_ + " sends " +
                        std::to_string(left.bytes) + " bytes where '" + message.call.label + "' of member " +
                        std::to_string(group_.seats.me) + " receives " + std::to_string(block.bytes) +
                        " (tag " + std::to_string(message.call.tag) +
                        "). A bug in ziggurat: please report it with the deck."};
    }
    if (left.arena_address.is_shared()) {
        std::byte* to = message.call.output + message.call.output_offset_bytes + block.offset_bytes;
        const int local = group_.seats.local_rank_of[sender];
        copy_shared(to, group_.seats.arenas->at(local, left.arena_address), block.bytes, Stores::ordinary);
        message.bytes_moved += block.bytes;
    } else {
        message.must_be_fetched = true;
    }
    take_message(from, *group_.seats.bells[sender], *found);
    message.state = State::idle;
    return true;
}

}  // namespace ziggurat::comm
