/// Memory that the ranks of one node share: arenas, seats of groups, bells.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "comm/context.hpp"
#include "comm/node/bell.hpp"
#include "comm/node/mailbox.hpp"
#include "comm/node/peer_arenas.hpp"
#include "comm/node/seat_channel.hpp"
#include "comm/node/shared_segment.hpp"
#include "comm/node_topology.hpp"
#include "device/arena.hpp"

namespace ziggurat::comm {

/// Spins and yields of a waiting rank before it sleeps on its bell.
struct WaitPolicy {
    int spins = 0;
    int yields = 0;

    /// A spinning rank must not take the core that its peer needs; one that yields to strangers loses a
    /// whole time slice, so a rank with a core of its own never yields.
    static WaitPolicy of(int threads_on_machine, int cores) noexcept {
        return threads_on_machine <= cores ? WaitPolicy{2000, 0} : WaitPolicy{100, 20};
    }
};

/// Sleeps of this rank so far; a lost wake-up would show as `timeouts`.
struct WaitCounts {
    std::int64_t sleeps = 0;
    std::int64_t timeouts = 0;
};

/// Made once per assembly and outlives all collectives made with it.
///
/// Owns the bells of a (pretended) node and the seats of groups; maps the arenas that peers share.
/// Nothing has a name anywhere, so nothing is left behind when ranks die.
class NodeMemory {
  public:
    struct Options {
        int pretended_nodes = 0;  ///< debug.nodes: 0: the real ones
        int threads = 1;          ///< of each rank, for large pulls
        bool may_share = true;    ///< false: as on a system that denies it
        std::optional<WaitPolicy> wait = {};
        std::int64_t longest_sleep_ns = 100'000'000;  ///< on a bell
        std::uint32_t first_operation = 0;            ///< at which the counters of groups start
    };

    /// \param world  its group outlives this
    /// Collective: over `world`
    NodeMemory(const Context& world, const Options& options);
    ~NodeMemory();
    NodeMemory(const NodeMemory&) = delete;
    NodeMemory& operator=(const NodeMemory&) = delete;

    /// Lets peers of the node read and write this arena, which outlives the collectives that use it. One
    /// that has no descriptor or no bytes takes part without being shared.
    ///
    /// Collective: over the world; a failure anywhere ends sharing everywhere (why_not_shared)
    void share(const device::Arena& arena);

    /// Whether collectives may go through shared memory; alike on all ranks.
    bool is_shared() const noexcept { return why_not_shared_.empty(); }
    /// For the banner; empty when memory is shared.
    const std::string& why_not_shared() const noexcept { return why_not_shared_; }

    /// For the waits of those that share memory here.
    const WaitContext& waits() const noexcept { return world_.waits(); }
    /// Of the world; pretended nodes count as nodes.
    const NodeTopology& nodes() const noexcept { return nodes_; }
    int threads() const noexcept { return options_.threads; }
    /// More threads than cores on any machine of the world.
    bool is_oversubscribed() const noexcept { return is_oversubscribed_; }
    /// Vectors up to this travel inside the seats of a group: one phase instead of two, worth more where
    /// each phase costs a change of processes. Alike on all ranks.
    std::int64_t inline_bytes() const noexcept { return is_oversubscribed_ ? 4096 : 1024; }
    /// World ranks of a group's members, in member order.
    std::vector<int> world_ranks_of(const Communicator& group) const;
    /// Place of a world rank among those of this node, -1 when it is on another.
    int local_rank_of(int world_rank) const;
    /// All members of `group` are on this node. Local.
    bool is_on_this_node(const Communicator& group) const;

    const PeerArenas& arenas() const noexcept { return arenas_; }

    /// Seats and mailboxes for a group whose members are all on this node, one of each per member and
    /// ordered pair; nothing, on all members, when memory is not shared. They live as long as this.
    ///
    /// Collective: over `group`
    std::optional<GroupSeats> make_seats(const Communicator& group);
    /// Zeroed memory that all ranks of this node read and write: `bytes_of_rank` for each, in the order of
    /// their local ranks. It lives as long as this. nullptr on all ranks when memory is not shared or short.
    ///
    /// Collective: over the world
    std::byte* make_block(std::int64_t bytes_of_rank, const char* purpose);

    // Waiting. See IdleWait for the loop itself.
    const WaitPolicy& wait_policy() const noexcept { return wait_; }
    std::int64_t longest_sleep_ns() const noexcept { return options_.longest_sleep_ns; }
    WaitCounts& wait_counts() noexcept { return counts_; }
    /// News may come that rings no bell: from another node, of MPI requests, of a device.
    bool must_poll() const noexcept { return !is_shared() || nodes_.num_nodes > 1 || polled_ > 0; }
    /// Brackets of the time in which this rank polls something that rings no bell.
    void polling_started() noexcept { ++polled_; }
    void polling_ended() noexcept { --polled_; }

    /// Bell that this rank sleeps on. Without shared memory there is one too, though no other rank knows it.
    Bell& bell() const noexcept { return bells_[me_]; }

  private:
    void make_bells();
    void find_wait_policy();

    Context world_;
    Communicator node_;
    Options options_;
    NodeTopology nodes_;
    std::vector<int> local_ranks_;  // by world rank; -1 elsewhere
    std::string why_not_shared_;
    WaitPolicy wait_;
    WaitCounts counts_;
    bool is_oversubscribed_ = false;
    int polled_ = 0;  ///< brackets that are open

    std::optional<CommonSegment> bell_segment_;
    std::optional<device::Arena> own_bell_;  // without sharing
    Bell* bells_ = nullptr;                  // by local rank
    int me_ = 0;
    int num_bells_ = 1;

    PeerArenas arenas_;
    std::vector<PeerMapping> mappings_;
    std::vector<CommonSegment> segments_;  // of seats and blocks
};

}  // namespace ziggurat::comm
