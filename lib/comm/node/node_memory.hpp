/// NodeMemory: memory that the ranks of one node share: arenas, seats of groups, bells.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "comm/context.hpp"
#include "comm/node/event_count.hpp"
#include "comm/node/mailbox.hpp"
#include "comm/node/peer_arenas.hpp"
#include "comm/node/shared_channel.hpp"
#include "comm/node/shared_segment.hpp"
#include "comm/node_topology.hpp"
#include "device/arena.hpp"

namespace ziggurat::comm {

/// Number of spins and yields of a waiting rank before it sleeps on its bell.
struct WaitPolicy {
    int spins = 0;
    int yields = 0;

    /// Chooses a policy.
    ///
    /// A spinning rank must not take the core that its peer needs. A rank that yields to unrelated processes
    /// loses a whole time slice, so a rank with its own core never yields.
    static WaitPolicy of(int threads_on_machine, int cores) noexcept {
        return threads_on_machine <= cores ? WaitPolicy{2000, 0} : WaitPolicy{100, 20};
    }
};

/// Number of sleeps of this rank so far; a lost wake-up would count as a timeout.
struct WaitCounts {
    std::int64_t sleeps = 0;
    std::int64_t timeouts = 0;
};

/// Shared memory of a node. Created once per assembly; outlives all collectives that use it.
///
/// It owns the bells of a (possibly emulated) node and the seats of groups, and maps the arenas that peers
/// share. All memory is unnamed, so the system frees it when ranks die.
class NodeMemory {
  public:
    struct Options {
        int pretended_nodes = 0;  ///< debug.nodes: number of emulated nodes; 0: the real ones
        int threads = 1;          ///< of each rank, for large pulls
        bool may_share = true;    ///< false: behave as on a system that denies sharing
        std::optional<WaitPolicy> wait = {};
        std::int64_t longest_sleep_ns = 100'000'000;  ///< on a bell
        std::uint32_t first_operation = 0;            ///< start value of the counters of groups
    };

    /// \param world  its group outlives this
    /// Collective: over `world`
    NodeMemory(const Context& world, const Options& options);
    ~NodeMemory();
    NodeMemory(const NodeMemory&) = delete;
    NodeMemory& operator=(const NodeMemory&) = delete;

    /// Lets peers of the node read and write this arena, which outlives the collectives that use it.
    ///
    /// An arena without descriptor or bytes takes part in the call but is not shared.
    ///
    /// Collective: over the world; a failure on any rank disables sharing on all (not_shared_reason)
    void share(const device::Arena& arena);

    /// True if collectives may use shared memory. It is the same on all ranks.
    bool is_shared() const noexcept { return not_shared_reason_.empty(); }
    /// Reason for the banner; empty if memory is shared.
    const std::string& not_shared_reason() const noexcept { return not_shared_reason_; }

    /// Context for the waits of collectives that use this memory.
    const WaitContext& waits() const noexcept { return world_.waits(); }
    /// Nodes of the world, including emulated ones.
    const NodeTopology& nodes() const noexcept { return nodes_; }
    int threads() const noexcept { return options_.threads; }
    /// True if any node of the world has more threads than cores.
    bool is_oversubscribed() const noexcept { return is_oversubscribed_; }
    /// Maximum size of vectors stored inside the seats of a group.
    ///
    /// They need one phase instead of two, which saves more if each phase costs a context switch. It is the
    /// same on all ranks.
    std::int64_t inline_bytes() const noexcept { return is_oversubscribed_ ? 4096 : 1024; }
    /// Returns the world ranks of a group's members, in member order.
    std::vector<int> world_ranks_of(const Communicator& group) const;
    /// Returns the index of a world rank among those of this node; -1 if it is on another node.
    int local_rank_of(int world_rank) const;
    /// True if all members of `group` are on this node. Local.
    bool is_on_this_node(const Communicator& group) const;

    const PeerArenas& arenas() const noexcept { return arenas_; }

    /// Creates the seats and mailboxes of a group whose members are all on this node.
    ///
    /// There is one seat per member and one mailbox per ordered pair; they live as long as this object.
    /// Returns nullopt, on all members, if memory is not shared.
    ///
    /// Collective: over `group`
    std::optional<GroupSlots> make_seats(const Communicator& group);
    /// Allocates zeroed memory that all ranks of this node read and write; it lives as long as this object.
    ///
    /// Each rank has `bytes_of_rank`, in the order of local ranks. Returns nullptr on all ranks if memory is
    /// not shared or insufficient.
    ///
    /// Collective: over the world
    std::byte* make_block(std::int64_t bytes_of_rank, const char* purpose);

    // Waiting. See Backoff for the loop.
    const WaitPolicy& wait_policy() const noexcept { return wait_; }
    std::int64_t longest_sleep_ns() const noexcept { return options_.longest_sleep_ns; }
    WaitCounts& wait_counts() noexcept { return counts_; }
    /// True if events may arrive that ring no bell: from another node, of MPI requests, of a device.
    bool must_poll() const noexcept { return !is_shared() || nodes_.num_nodes > 1 || polled_ > 0; }
    /// Mark the begin and end of polling something that rings no bell.
    void polling_started() noexcept { ++polled_; }
    void polling_ended() noexcept { --polled_; }

    /// Bell that this rank sleeps on. Without shared memory it exists too, but other ranks cannot ring it.
    EventCount& bell() const noexcept { return bells_[me_]; }

  private:
    void make_bells();
    void find_wait_policy();

    Context world_;
    Communicator node_;
    Options options_;
    NodeTopology nodes_;
    std::vector<int> local_ranks_;  // by world rank; -1 on other nodes
    std::string not_shared_reason_;
    WaitPolicy wait_;
    WaitCounts counts_;
    bool is_oversubscribed_ = false;
    int polled_ = 0;  ///< calls of polling_started() without polling_ended()

    std::optional<CommonSegment> bell_segment_;
    std::optional<device::Arena> own_bell_;  // if memory is not shared
    EventCount* bells_ = nullptr;            // by local rank
    int me_ = 0;
    int num_bells_ = 1;

    PeerArenas arenas_;
    std::vector<PeerMapping> mappings_;
    std::vector<CommonSegment> segments_;  // of seats and blocks
};

}  // namespace ziggurat::comm
