/// Nodes under the mesh: which ranks share one, and which groups of ranks lie across several.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "layout/mesh.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::layout {

/// The node of each rank where so many ranks follow each other on a node; or, where nodes are pretended, as
/// spec::Debug::nodes has them.
std::vector<int> nodes_in_a_row(int ranks, int ranks_per_node, int pretended_nodes);

/// Of the groups along `axis`, the first that lies across most nodes.
struct SpreadGroup {
    std::vector<int> ranks;
    int num_nodes = 1;
};

/// \param node_of  by world rank
SpreadGroup widest_group(const Mesh& mesh, spec::Axis axis, std::span<const int> node_of);

/// `ranks 0 to 3` or `ranks 0, 2, 5`; the first few of many. \pre ascending, at least one
std::string list_ranks(std::span<const int> ranks);

/// Sequence parallelism, where there are tensor ranks, and the schedule, where there are stages, each behind
/// a semicolon: `; sequence on; schedule 1f1b`.
std::string describe_axes(const spec::Parallel& parallel);

/// `node 0: ranks 0 to 3; node 1: ranks 4 to 7; tensor groups lie within nodes, data groups across 2`; of
/// many nodes the first three and the last. Empty for one node.
///
/// \param names  of the nodes; none: their numbers
std::string describe_nodes(const spec::Parallel& parallel,
                           std::span<const int> node_of,
                           std::span<const std::string> names = {});

/// What keeps the groups along the tensor axis within nodes, as a sentence. \pre one lies across several
std::string keep_tensor_groups_together(const spec::Parallel& parallel, std::span<const int> node_of);

}  // namespace ziggurat::layout
