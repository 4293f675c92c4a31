#include "tests/emulated_cuda/nccl_exchange.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>

namespace emulated_cuda {
namespace {

std::string text_of(const MessageHead& head) {
    constexpr std::array kinds{"a message", "all-gather", "reduce-scatter", "all-reduce", "broadcast"};
    auto text = std::string{kinds[static_cast<std::size_t>(head.kind)]} + " of " +
                std::to_string(head.count) + " elements of type " + std::to_string(head.type);
    if (head.operation > 0) {
        text += ", operation " + std::to_string(head.operation);
    }
    return text;
}

void send_part(Slot& slot, Message& message) {
    if (slot.is_full.load(std::memory_order_acquire) != 0) {
        return;
    }
    if (message.moved == message.bytes) {
        message.is_over = true;
        return;
    }
    const auto part = std::min(slot_bytes, message.bytes - message.moved);
    slot.head = message.head;
    slot.bytes = static_cast<std::uint32_t>(part);
    std::memcpy(slot.part, message.at + message.moved, part);
    message.moved += part;
    slot.is_full.store(1, std::memory_order_release);
}

void receive_part(Slot& slot, Message& message, CommState& comm) {
    if (slot.is_full.load(std::memory_order_acquire) == 0) {
        return;
    }
    if (!(slot.head == message.head)) {
        comm.fail(ncclInternalError, "rank " + std::to_string(message.peer) + " sends " + text_of(slot.head) +
                                         " where rank " + std::to_string(comm.rank()) + " wants " +
                                         text_of(message.head) + "; the real one would hang");
        return;
    }
    std::memcpy(message.at + message.moved, slot.part, slot.bytes);
    message.moved += slot.bytes;
    message.is_over = message.moved == message.bytes;
    slot.is_full.store(0, std::memory_order_release);
}

}  // namespace

CommState::CommState(std::unique_ptr<MappedRegion> region, int ranks, int rank, int device)
    : region_{std::move(region)}, ranks_{ranks}, rank_{rank}, device_{device} {
    watches_.resize(static_cast<std::size_t>(ranks));
}

bool CommState::have_all_come() {
    for (int peer = 0; peer < ranks_; ++peer) {
        const auto& member = region().members[static_cast<std::size_t>(peer)];
        if (member.presence == Presence::none) {
            return false;
        }
        auto& watch = watches_[static_cast<std::size_t>(peer)];
        if (watch == nullptr) {
            watch = std::make_unique<ProcessWatch>(member.process);
        }
        if (peer != rank_ && member.device == region().members[static_cast<std::size_t>(rank_)].device) {
            fail(ncclInvalidUsage, "Duplicate GPU detected : rank " + std::to_string(rank_) + " and rank " +
                                       std::to_string(peer) + " both on CUDA device " +
                                       std::to_string(member.device));
        }
    }
    return true;
}

bool CommState::is_lost(int peer) const {
    const auto at = static_cast<std::size_t>(peer);
    return region().members[at].presence == Presence::gone ||
           (watches_[at] != nullptr && watches_[at]->has_ended());
}

void CommState::fail(ncclResult_t result, const std::string& what) {
    const std::lock_guard lock{mutex_};
    if (failure_ == ncclSuccess) {
        what_ = what;
        failure_ = result;
        std::fprintf(stderr, "emulated NCCL: rank %d: %s\n", rank_, what.c_str());
    }
}

std::string CommState::what() const {
    const std::lock_guard lock{mutex_};
    return what_;
}

void CommState::abort() {
    is_aborted_ = true;
    region().members[static_cast<std::size_t>(rank_)].presence = Presence::gone;
}

bool Exchange::advance() {
    if (comm->is_aborted()) {
        return true;
    }
    if (comm->failure() != ncclSuccess) {
        return false;
    }
    const auto me = static_cast<std::size_t>(comm->rank());
    // Messages between the same two ranks proceed one after the other.
    std::array<std::array<bool, max_ranks>, 2> is_taken{};
    bool is_over = true;
    for (auto& message : messages) {
        const auto peer = static_cast<std::size_t>(message.peer);
        auto& taken = is_taken[message.sends ? 1 : 0][peer];
        if (message.is_over || std::exchange(taken, true)) {
            is_over = is_over && message.is_over;
            continue;
        }
        // Data that was sent before its sender was lost is still received.
        const bool is_lost = comm->is_lost(message.peer);
        const auto before = message.moved;
        auto& slots = comm->region().slots;
        message.sends ? send_part(slots[me][peer], message) : receive_part(slots[peer][me], message, *comm);
        if (is_lost && !message.is_over && message.moved == before) {
            comm->fail(ncclRemoteError, "rank " + std::to_string(message.peer) + " is gone");
        }
        is_over = is_over && message.is_over;
    }
    if (is_over && finish) {
        finish();
    }
    return is_over;
}

}  // namespace emulated_cuda
