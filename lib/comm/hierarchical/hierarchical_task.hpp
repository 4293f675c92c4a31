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
#include "comm/node/shared_channel.hpp"
#include "comm/node/shared_sum.hpp"

namespace ziggurat::comm {

/// Addresses of the vectors of all members of a node, including this one.
///
/// Indexed as HierarchicalPlan::members_on.
struct NeighbourVectors {
    /// Addresses of `in`; all_gather, broadcast: of the own block.
    std::vector<const std::byte*> inputs = {};
    std::vector<std::byte*> outputs = {};  ///< addresses of `out`
    /// Offset in `inputs` of the block for this member; for all_to_all.
    std::vector<std::int64_t> offsets_for_me = {};
};

/// Exchanges the addresses of a call's vectors between neighbours.
///
/// Returns nullopt, on all members, if a part of a vector is outside of the shared arenas on a node with
/// several members.
///
/// \param node_of     by member
/// \param neighbours  channel of the members of this node
/// Collective: over `group`
std::optional<NeighbourVectors> show_vectors(const CollectiveCall& call,
                                             const Communicator& group,
                                             const std::vector<int>& node_of,
                                             const SharedChannel& neighbours);

/// Copies bytes, with all threads if there are many.
void copy_with(int threads, std::byte* to, const std::byte* from, std::int64_t bytes, Stores stores);

/// Task of one member. Neighbours are the members of the same node.
struct HierarchicalTask {
    CollectiveCall call;
    const HierarchicalPlan* plan = nullptr;  ///< outlives the task
    int rank = 0;
    NeighbourVectors vectors;
    int tag = 0;                       ///< this tag and the next belong to the call
    int threads = 1;                   ///< threads of this rank for copies and sums
    Stores stores = Stores::ordinary;  ///< kind of stores for results

    int node() const { return plan->node_of(rank); }
    std::span<const int> neighbours() const { return plan->members_on(node()); }
    bool is_neighbour(int member) const { return plan->node_of(member) == node(); }
    std::size_t index_of(int neighbour) const {
        const auto all = neighbours();
        return std::lower_bound(all.begin(), all.end(), neighbour) - all.begin();
    }
    const std::byte* input_of(int neighbour) const { return vectors.inputs[index_of(neighbour)]; }
    std::byte* output_of(int neighbour) const { return vectors.outputs[index_of(neighbour)]; }
    const Block& block_of(int member) const { return call.blocks[member]; }

    const std::byte* in() const { return call.input + call.input_offset_bytes; }
    std::byte* out() const { return call.output + call.output_offset_bytes; }
};

}  // namespace ziggurat::comm
