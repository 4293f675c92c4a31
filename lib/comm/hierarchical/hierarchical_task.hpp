/// Task of one member in a call between nodes: the call, its plan, and the vectors of its neighbours.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "comm/collectives.hpp"
#include "comm/communicator.hpp"
#include "comm/hierarchical/hierarchical_plan.hpp"
#include "comm/node/seat_channel.hpp"
#include "comm/node/shared_sum.hpp"

namespace ziggurat::comm {

/// Vectors that the members of a node show each other, by place in HierarchicalPlan::members_on, this one
/// among them.
struct NeighbourVectors {
    std::vector<const std::byte*> inputs = {};  ///< where `in` begins; all_gather, broadcast: the own block
    std::vector<std::byte*> outputs = {};       ///< where `out` begins
    std::vector<std::int64_t> offsets_for_me = {};  ///< all_to_all: in `inputs`, of the block for this member
};

/// Exchanges the places of a call's vectors between neighbours. Nothing, on all members, when a part of a
/// vector lies outside of the shared arenas on a node of several members.
///
/// \param node_of     by member
/// \param neighbours  a channel of the members of this node
/// Collective: over `group`
std::optional<NeighbourVectors> show_vectors(const CollectiveCall& call,
                                             const Communicator& group,
                                             const std::vector<int>& node_of,
                                             const SeatChannel& neighbours);

/// Copies long parts with all threads.
void copy_with(int threads, std::byte* to, const std::byte* from, std::int64_t bytes, Stores stores);

/// Neighbours are the members of the same node.
struct HierarchicalTask {
    CollectiveCall call;
    const HierarchicalPlan* plan = nullptr;  ///< outlives the task
    int rank = 0;
    NeighbourVectors vectors;
    int tag = 0;                       ///< this and the next are the call's own
    int threads = 1;                   ///< of this rank, for what it reads and sums
    Stores stores = Stores::ordinary;  ///< of results

    int node() const { return plan->node_of(rank); }
    std::span<const int> neighbours() const { return plan->members_on(node()); }
    bool is_neighbour(int member) const { return plan->node_of(member) == node(); }
    std::size_t place_of(int neighbour) const {
        const auto all = neighbours();
        return static_cast<std::size_t>(std::lower_bound(all.begin(), all.end(), neighbour) - all.begin());
    }
    const std::byte* input_of(int neighbour) const { return vectors.inputs[place_of(neighbour)]; }
    std::byte* output_of(int neighbour) const { return vectors.outputs[place_of(neighbour)]; }
    const Block& block_of(int member) const { return call.blocks[static_cast<std::size_t>(member)]; }

    const std::byte* in() const { return call.input + call.input_offset_bytes; }
    std::byte* out() const { return call.output + call.output_offset_bytes; }
};

}  // namespace ziggurat::comm
