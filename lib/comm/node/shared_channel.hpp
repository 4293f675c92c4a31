/// SharedChannel: seats of a group of ranks of a node, and the protocol of its operations.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "comm/node/event_count.hpp"
#include "comm/node/peer_arenas.hpp"

namespace ziggurat::comm {

/// Description of an operation by one member.
///
/// It is enough to read the member's memory, and to detect that the member runs a different operation.
struct PostedCall {
    std::uint32_t call = 0;  ///< number among the group's prepared calls
    std::uint32_t kind = 0;
    std::uint32_t type = 0;
    std::int64_t bytes = 0;  ///< of the whole vector; equal on all members
    ArenaAddress input = {};
    ArenaAddress output = {};
};

/// Seat of one member in a group; only that member writes to it.
///
/// In shared memory; created by `new (place) Seat`.
struct alignas(64) MemberSlot {
    static constexpr std::uint32_t ring_operations = 4;
    static constexpr std::int64_t payload_bytes = 4096;

    struct alignas(64) Slot {
        PostedCall call;
        // Not initialised: its pages may never be used.
        alignas(64) std::array<std::byte, payload_bytes> payload;
    };

    /// Counters of operations, each on its own cache line; 32 bits that wrap around.
    std::atomic<std::uint32_t> posted{0};
    alignas(64) std::atomic<std::uint32_t> done{0};
    std::array<Slot, ring_operations> notify;
};

/// True if the counter has reached `operation`. Handles wrap-around.
constexpr bool has_reached(std::uint32_t counter, std::uint32_t operation) noexcept {
    return static_cast<std::int32_t>(counter - operation) >= 0;
}

/// Addresses of a group's seats and bells, indexed by member. Members may be processes or threads.
struct ChannelGroup {
    int me = 0;
    std::vector<MemberSlot*> seats = {};
    std::vector<EventCount*> bells = {};
    std::vector<int> local_rank_of = {};  ///< member -> local rank, for `arenas`
    const PeerArenas* arenas = nullptr;   ///< outlives the channel; may grow
    std::uint32_t first_operation = 0;    ///< start value of all counters of the seats

    int size() const noexcept { return static_cast<int>(seats.size()); }
};

/// One member's end of a group's protocol. It never waits, allocates or calls MPI.
///
/// Operation k of a group is the k-th that each member posts: all members post in the same order. On each
/// member:
///
///     can_post()          the ring has a free slot: all members are done with operation k - 4
///     k = post(...)       publishes that my inputs are ready, and their location (or the payload itself)
///     all_posted(k)       then posted_call(m, k), payload(m, k) and the memory they describe may be read
///     ...                 do my part: read others' memory, write to it if the kind requires
///     finish(k)           publishes that I am done with others' memory; in the order of posts
///     all_done(k)         then others are done with mine
///
/// Async: all writes of a member before post(k) are visible after all_posted(k), and all before finish(k)
///        after all_done(k). Non-temporal stores need an sfence before either.
class SharedChannel {
  public:
    using Operation = std::uint32_t;

    explicit SharedChannel(ChannelGroup group);

    int size() const noexcept { return group_.size(); }
    int me() const noexcept { return group_.me; }

    bool can_post() noexcept { return all_done(last_ + 1 - MemberSlot::ring_operations); }

    /// Publishes the next operation and wakes members that sleep.
    ///
    /// \param payload  copied into the seat for others to read; at most MemberSlot::payload_bytes
    Operation post(const PostedCall& call, std::span<const std::byte> payload = {}) noexcept;

    /// Payload of the next operation: filled in place, then posted without a payload argument.
    ///
    /// Valid while can_post().
    std::span<std::byte> next_payload() noexcept;

    bool all_posted(Operation operation) noexcept;

    const PostedCall& posted_call(int member, Operation operation) const noexcept {
        return slot(member, operation).call;
    }
    const std::byte* payload(int member, Operation operation) const noexcept {
        return slot(member, operation).payload.data();
    }
    /// Returns the address in this process of a location published by `member`.
    std::byte* address(int member, const ArenaAddress& arena_address) const noexcept {
        return group_.arenas->at(group_.local_rank_of[member], arena_address);
    }
    /// Returns the location of a buffer of this member; is_shared() is false outside of the arenas.
    ArenaAddress arena_address_of(const std::byte* address, std::int64_t bytes) const noexcept {
        return group_.arenas->find(group_.local_rank_of[group_.me], address, bytes);
    }

    void finish(Operation operation) noexcept;
    bool all_done(Operation operation) noexcept;

    /// Last operation that this member has posted.
    Operation last() const noexcept { return last_; }

  private:
    const MemberSlot::Slot& slot(int member, Operation operation) const noexcept {
        return group_.seats[member]->notify[operation % MemberSlot::ring_operations];
    }
    void wake_others() noexcept;

    ChannelGroup group_;
    Operation last_;
    // Cached counters of each member: most polls need no remote cache line.
    std::vector<std::uint32_t> seen_posted_;
    std::vector<std::uint32_t> seen_done_;
};

}  // namespace ziggurat::comm
