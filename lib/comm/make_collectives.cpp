#include "comm/make_collectives.hpp"

#include <set>
#include <utility>

#include "comm/hierarchical/hierarchical_collectives.hpp"
#include "comm/mpi/mpi_collectives.hpp"
#include "comm/node/shared_collectives.hpp"

namespace ziggurat::comm {
namespace {

/// True if a node has two or more members of the group.
bool has_neighbours(const Communicator& group, const NodeMemory& node) {
    std::set<int> nodes;
    for (const int rank : node.world_ranks_of(group)) {
        nodes.insert(node.nodes().node_of[rank]);
    }
    return std::ssize(nodes) < group.size();
}

}  // namespace

std::unique_ptr<Collectives> make_collectives(const Communicator& group,
                                              NodeMemory& node,
                                              const std::string& name) {
    if (node.is_on_this_node(group)) {
        if (auto seats = node.make_seats(group)) {
            return std::make_unique<SharedCollectives>(group, node, std::move(*seats), name);
        }
    }
    if (node.is_shared() && has_neighbours(group, node)) {
        return std::make_unique<HierarchicalCollectives>(group, node);
    }
    return std::make_unique<MpiCollectives>(group);
}

}  // namespace ziggurat::comm
