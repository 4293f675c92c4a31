#include "comm/node_topology.hpp"

#include <array>
#include <cstddef>

#include "base/contract.hpp"
#include "comm/check_mpi.hpp"

namespace ziggurat::comm {
namespace {

/// Returns the lowest rank of `group` that shares memory with this one.
int first_rank_on_node(const Communicator& group) {
    MPI_Comm shared = MPI_COMM_NULL;
    ZG_MPI(MPI_Comm_split_type(group.native(), MPI_COMM_TYPE_SHARED, group.rank(), MPI_INFO_NULL, &shared));
    const UniqueHandle<MpiCommTraits> owner{shared};
    int first = group.rank();
    ZG_MPI(MPI_Bcast(&first, 1, MPI_INT, 0, shared));
    return first;
}

}  // namespace

NodeTopology topology_of(const std::vector<int>& color_of_rank, int rank) {
    ZG_EXPECTS(rank >= 0 && static_cast<std::size_t>(rank) < color_of_rank.size());
    NodeTopology topology;
    std::vector<int> colors;       // by node
    std::vector<int> num_members;  // by node
    const std::size_t ranks = color_of_rank.size();
    for (std::size_t r = 0; r < ranks; ++r) {
        std::size_t node = 0;
        while (node < colors.size() && colors[node] != color_of_rank[r]) {
            ++node;
        }
        if (node == colors.size()) {
            colors.push_back(color_of_rank[r]);
            num_members.push_back(0);
        }
        if (static_cast<int>(r) == rank) {
            topology.node = static_cast<int>(node);
            topology.rank_in_node = num_members[node];
        }
        ++num_members[node];
        topology.node_of.push_back(static_cast<int>(node));
    }
    topology.num_nodes = static_cast<int>(colors.size());
    topology.ranks_on_node = num_members[topology.node];
    for (std::size_t r = 0; r < ranks; ++r) {
        if (topology.node_of[r] != static_cast<int>(r) / num_members.front()) {
            topology.is_uniform = false;
        }
    }
    topology.is_uniform = topology.is_uniform && num_members.back() == num_members.front();
    return topology;
}

NodeTopology find_nodes(const Communicator& group, int pretended_nodes) {
    ZG_EXPECTS(pretended_nodes >= 0 && pretended_nodes <= group.size());
    std::vector<int> colors(group.size());
    if (pretended_nodes > 0) {
        for (int r = 0; r < group.size(); ++r) {
            colors[r] = static_cast<int>(static_cast<std::int64_t>(r) * pretended_nodes / group.size());
        }
    } else {
        const int mine = first_rank_on_node(group);
        ZG_MPI(MPI_Allgather(&mine, 1, MPI_INT, colors.data(), 1, MPI_INT, group.native()));
    }
    return topology_of(colors, group.rank());
}

std::string machine_name() {
    std::array<char, MPI_MAX_PROCESSOR_NAME> name{};
    int length = 0;
    ZG_MPI(MPI_Get_processor_name(name.data(), &length));
    return {name.data(), static_cast<std::size_t>(length)};
}

}  // namespace ziggurat::comm
