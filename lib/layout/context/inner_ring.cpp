#include "layout/context/inner_ring.hpp"

#include <vector>

#include "layout/mesh.hpp"
#include "layout/node_groups.hpp"

namespace ziggurat::layout {
namespace {

/// Returns the number of members on each node; 0 if it differs, or if they are not consecutive.
int members_per_node(const std::vector<int>& group, const std::vector<int>& node_of) {
    const auto node = [&](std::size_t member) { return node_of[group[member]]; };
    std::size_t size = 1;
    while (size < group.size() && node(size) == node(0)) {
        ++size;
    }
    for (std::size_t member = size; member < group.size(); ++member) {
        const bool is_first = member % size == 0;
        if (is_first == (node(member) == node(member - 1))) {
            return 0;
        }
    }
    return group.size() % size == 0 ? static_cast<int>(size) : 0;
}

}  // namespace

int inner_ring(const spec::RunSpec& run) {
    const auto& parallel = run.parallel;
    const int whole = parallel.context;
    if (whole == 1 || parallel.context_kind != spec::ContextKind::ring) {
        return whole;
    }
    const Mesh mesh{parallel};
    const auto node_of = nodes_in_a_row(parallel.ranks, parallel.ranks_per_node, run.debug.nodes);
    int size = 0;
    for (int rank = 0; rank < parallel.ranks; ++rank) {
        if (mesh.coordinate(spec::Axis::context, rank) != 0) {
            continue;
        }
        const int of_group = members_per_node(mesh.group(spec::Axis::context, rank), node_of);
        if (of_group < 2 || (size > 0 && of_group != size)) {
            return whole;
        }
        size = of_group;
    }
    return size;
}

std::string describe_rings(const spec::RunSpec& run) {
    const int inner = inner_ring(run);
    return inner == run.parallel.context
               ? ""
               : "; ring attention in rings of " + std::to_string(inner) + " within and " +
                     std::to_string(run.parallel.context / inner) + " between nodes";
}

}  // namespace ziggurat::layout
