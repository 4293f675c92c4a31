/// Seats of one group of ranks of a node, and the protocol of its operations: posted, then done.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "comm/node/bell.hpp"
#include "comm/node/peer_arenas.hpp"

namespace ziggurat::comm {

/// Description of an operation by one member: enough to read its memory, and to notice one that means another
/// operation.
struct PostedCall {
    std::uint32_t call = 0;  ///< its number among the group's prepared calls
    std::uint32_t kind = 0;
    std::uint32_t type = 0;
    std::int64_t bytes = 0;  ///< of the whole vector; equal on all members
    SharedPlace input = {};
    SharedPlace output = {};
};

/// Seat of one member in a group, which alone writes to it. Lies in shared memory; made by
/// `new (place) Seat`.
struct alignas(64) Seat {
    static constexpr std::uint32_t ring_operations = 4;
    static constexpr std::int64_t payload_bytes = 4096;

    struct alignas(64) Slot {
        PostedCall call;
        alignas(64) std::array<std::byte, payload_bytes> payload;  // left alone: its pages may never be used
    };

    /// Counters of operations, each on a cache line of its own; 32 bits that wrap around.
    std::atomic<std::uint32_t> posted{0};
    alignas(64) std::atomic<std::uint32_t> done{0};
    std::array<Slot, ring_operations> ring;
};

/// True once the counter has come to `operation`; survives the wrap-around.
constexpr bool has_reached(std::uint32_t counter, std::uint32_t operation) noexcept {
    return static_cast<std::int32_t>(counter - operation) >= 0;
}

/// A group as its channel sees it. Everything is indexed by member; in a process among threads as in a node
/// among processes, these are only addresses.
struct SeatGroup {
    int me = 0;
    std::vector<Seat*> seats = {};
    std::vector<Bell*> bells = {};
    std::vector<int> local_rank_of = {};  ///< member -> local rank, for `arenas`
    const PeerArenas* arenas = nullptr;   ///< outlives the channel; may grow
    std::uint32_t first_operation = 0;    ///< what all counters of the seats stand at

    int size() const noexcept { return static_cast<int>(seats.size()); }
};

/// One member's end of a group's protocol. Never waits, never allocates, calls no MPI.
///
/// Operation k of a group is the k-th that each member posts: all post in the same order. Life of one, on
/// each member:
///
///     can_post()          the ring has room: all members are done with the operation four before
///     k = post(...)       my inputs are ready, here is where they lie (or the payload itself)
///     all_posted(k)       now anybody's posted_call(m, k) and payload(m, k) may be read, and what they name
///     ...                 do my part: read others' memory, write to it where the kind says so
///     finish(k)           I am done with others' memory; in the order of posts
///     all_done(k)         others are done with mine
///
/// Async: all that a member wrote before post(k) is seen after all_posted(k), and all that it wrote before
///        finish(k) after all_done(k). Non-temporal stores need their sfence before either.
class SeatChannel {
  public:
    using Operation = std::uint32_t;

    explicit SeatChannel(SeatGroup group);

    int size() const noexcept { return group_.size(); }
    int me() const noexcept { return group_.me; }

    bool can_post() noexcept { return all_done(last_ + 1 - Seat::ring_operations); }

    /// Publishes the next operation and wakes members that sleep.
    ///
    /// \param payload  copied into the seat for others to read; at most Seat::payload_bytes
    Operation post(const PostedCall& call, std::span<const std::byte> payload = {}) noexcept;

    /// Payload of the next operation: packed here piece by piece, then posted without one. Valid while
    /// can_post().
    std::span<std::byte> next_payload() noexcept;

    bool all_posted(Operation operation) noexcept;

    const PostedCall& posted_call(int member, Operation operation) const noexcept {
        return slot(member, operation).call;
    }
    const std::byte* payload(int member, Operation operation) const noexcept {
        return slot(member, operation).payload.data();
    }
    /// Address in this process of `place`, which `member` has named.
    std::byte* address(int member, const SharedPlace& place) const noexcept {
        return group_.arenas->at(group_.local_rank_of[static_cast<std::size_t>(member)], place);
    }
    /// Place of a buffer of this member, as others know it; is_shared() is false outside of the arenas.
    SharedPlace place_of(const std::byte* address, std::int64_t bytes) const noexcept {
        return group_.arenas->find(group_.local_rank_of[static_cast<std::size_t>(group_.me)], address, bytes);
    }

    void finish(Operation operation) noexcept;
    bool all_done(Operation operation) noexcept;

    /// The last operation that this member has posted.
    Operation last() const noexcept { return last_; }

  private:
    const Seat::Slot& slot(int member, Operation operation) const noexcept {
        return group_.seats[static_cast<std::size_t>(member)]->ring[operation % Seat::ring_operations];
    }
    void wake_others() noexcept;

    SeatGroup group_;
    Operation last_;
    // Counters of each member as last seen: most looks need no foreign cache line.
    std::vector<std::uint32_t> seen_posted_;
    std::vector<std::uint32_t> seen_done_;
};

}  // namespace ziggurat::comm
