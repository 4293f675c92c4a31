#include "comm/node/shared_channel.hpp"

#include <cstring>
#include <utility>

#include "base/contract.hpp"

namespace ziggurat::comm {
namespace {

/// True if the counters of all members have reached `operation`.
///
/// Reads counters from the own seat up to the first that has not reached it.
template <class Counter>
bool have_all_reached(const ChannelGroup& group,
                      std::uint32_t operation,
                      std::vector<std::uint32_t>& seen,
                      Counter MemberSlot::*counter) noexcept {
    const int size = group.size();
    for (int i = 0; i < size; ++i) {
        const std::size_t member = (group.me + i) % size;
        if (has_reached(seen[member], operation)) {
            continue;
        }
        seen[member] = (group.seats[member]->*counter).load(std::memory_order_acquire);
        if (!has_reached(seen[member], operation)) {
            return false;
        }
    }
    return true;
}

}  // namespace

SharedChannel::SharedChannel(ChannelGroup group)
    : group_{std::move(group)},
      last_{group_.first_operation},
      seen_posted_(group_.seats.size(), group_.first_operation),
      seen_done_(group_.seats.size(), group_.first_operation) {
    ZG_EXPECTS(group_.me >= 0 && group_.me < group_.size());
    ZG_EXPECTS(group_.bells.size() == group_.seats.size());
    ZG_EXPECTS(group_.local_rank_of.size() == group_.seats.size());
    ZG_EXPECTS(group_.arenas != nullptr);
}

void SharedChannel::wake_others() noexcept {
    for (int m = 0; m < size(); ++m) {
        if (m != group_.me) {
            notify(*group_.bells[m]);
        }
    }
}

std::span<std::byte> SharedChannel::next_payload() noexcept {
    return group_.seats[group_.me]->notify[(last_ + 1) % MemberSlot::ring_operations].payload;
}

SharedChannel::Operation SharedChannel::post(const PostedCall& call,
                                             std::span<const std::byte> payload) noexcept {
    MemberSlot& seat = *group_.seats[group_.me];
    ++last_;
    MemberSlot::Slot& slot = seat.notify[last_ % MemberSlot::ring_operations];
    slot.call = call;
    if (!payload.empty()) {
        std::memcpy(slot.payload.data(), payload.data(), payload.size());
    }
    seat.posted.store(last_, std::memory_order_seq_cst);
    wake_others();
    return last_;
}

bool SharedChannel::all_posted(Operation operation) noexcept {
    return have_all_reached(group_, operation, seen_posted_, &MemberSlot::posted);
}

void SharedChannel::finish(Operation operation) noexcept {
    group_.seats[group_.me]->done.store(operation, std::memory_order_seq_cst);
    wake_others();
}

bool SharedChannel::all_done(Operation operation) noexcept {
    return have_all_reached(group_, operation, seen_done_, &MemberSlot::done);
}

}  // namespace ziggurat::comm
