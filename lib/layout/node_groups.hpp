/// Mapping of nodes to the mesh: ranks that share a node, and groups that span several nodes.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "layout/mesh.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::layout {

/// Returns the node of each rank if each node has `ranks_per_node` consecutive ranks.
///
/// If nodes are emulated, returns the nodes of spec::Debug::nodes.
std::vector<int> nodes_in_a_row(int ranks, int ranks_per_node, int pretended_nodes);

/// The first of the groups along `axis` that span the most nodes.
struct SpreadGroup {
    std::vector<int> ranks;
    int num_nodes = 1;
};

/// \param node_of  by world rank
SpreadGroup widest_group(const Mesh& mesh, spec::Axis axis, std::span<const int> node_of);

/// Returns `ranks 0 to 3` or `ranks 0, 2, 5`.
///
/// Lists only the first few if there are many. \pre ascending, not empty
std::string list_ranks(std::span<const int> ranks);

/// Returns the settings of sequence parallelism and schedule as text: `; sequence on; schedule 1f1b`.
///
/// Sequence parallelism appears if there are tensor ranks, the schedule if there are stages.
std::string describe_axes(const spec::Parallel& parallel);

/// Returns the factors of the number of sequence groups, as in `data 2 x tensor rows 2`.
std::string describe_sequence_groups(const spec::Parallel& parallel);

/// Describes the ranks of each node and the nodes of each group.
///
/// `node 0: ranks 0 to 3; node 1: ranks 4 to 7; tensor groups within nodes, data groups across 2`. If there
/// are many nodes, lists the first three and the last. Empty for one node.
///
/// \param names  of the nodes; empty: use their numbers
std::string describe_nodes(const spec::Parallel& parallel,
                           std::span<const int> node_of,
                           std::span<const std::string> names = {});

/// Returns advice that keeps tensor groups within nodes, as a sentence.
///
/// \pre one group spans several nodes
std::string keep_tensor_groups_together(const spec::Parallel& parallel, std::span<const int> node_of);

}  // namespace ziggurat::layout
