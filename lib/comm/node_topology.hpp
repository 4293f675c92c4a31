/// Topology of a job: its nodes, and the ranks on each.
#pragma once

#include <string>
#include <vector>

#include "comm/communicator.hpp"

namespace ziggurat::comm {

/// Nodes of a job, numbered by their lowest rank.
struct NodeTopology {
    std::vector<int> node_of;  ///< by rank
    int num_nodes = 1;
    int node = 0;            ///< of this rank
    int rank_in_node = 0;    ///< index of this rank among those of its node
    int ranks_on_node = 1;   ///< number of ranks on this rank's node
    bool is_uniform = true;  ///< every node has the same number of ranks, and they are consecutive
};

/// Derives nodes from a list that has the same number for ranks of the same node.
NodeTopology topology_of(const std::vector<int>& color_of_rank, int rank);

/// Finds the ranks that share memory (MPI_COMM_TYPE_SHARED).
///
/// \param pretended_nodes  0: the real nodes; N: emulates N nodes of consecutive ranks
/// Collective: over `group`
NodeTopology find_nodes(const Communicator& group, int pretended_nodes);

/// Returns the host name of the node that this rank runs on.
std::string machine_name();

}  // namespace ziggurat::comm
