#include "layout/node_groups.hpp"

#include <algorithm>
#include <numeric>
#include <set>

#include "base/contract.hpp"
#include "spec/schedule_keyword.hpp"

namespace ziggurat::layout {
namespace {

using spec::Axis;

const char* name_of(Axis axis) {
    return axis == Axis::tensor       ? "tensor"
           : axis == Axis::tensor_row ? "tensor column"  // the ranks of all rows
           : axis == Axis::context    ? "context"
           : axis == Axis::data       ? "data"
                                      : "pipeline";
}

std::vector<std::vector<int>> ranks_by_node(std::span<const int> node_of) {
    std::vector<std::vector<int>> nodes;
    for (std::size_t rank = 0; rank < node_of.size(); ++rank) {
        const std::size_t node = node_of[rank];
        nodes.resize(std::max(nodes.size(), node + 1));
        nodes[node].push_back(static_cast<int>(rank));
    }
    return nodes;
}

/// Returns `parallel` with tensor ranks next to each other.
spec::Parallel with_tensor_first(spec::Parallel parallel) {
    auto& order = parallel.order;
    std::ranges::stable_partition(order, [](Axis axis) { return axis == Axis::tensor; });
    return parallel;
}

}  // namespace

std::vector<int> nodes_in_a_row(int ranks, int ranks_per_node, int pretended_nodes) {
    std::vector<int> node_of(ranks);
    for (int rank = 0; rank < ranks; ++rank) {
        node_of[rank] = pretended_nodes > 0 ? static_cast<int>(std::int64_t{rank} * pretended_nodes / ranks)
                                            : rank / std::max(1, ranks_per_node);
    }
    return node_of;
}

SpreadGroup widest_group(const Mesh& mesh, spec::Axis axis, std::span<const int> node_of) {
    ZG_EXPECTS(std::ssize(node_of) == mesh.ranks());
    SpreadGroup widest;
    for (int rank = 0; rank < mesh.ranks(); ++rank) {
        if (mesh.coordinate(axis, rank) != 0) {
            continue;
        }
        auto group = mesh.group(axis, rank);
        std::set<int> nodes;
        for (const int member : group) {
            nodes.insert(node_of[member]);
        }
        if (widest.ranks.empty() || std::ssize(nodes) > widest.num_nodes) {
            widest = {std::move(group), static_cast<int>(nodes.size())};
        }
    }
    return widest;
}

std::string list_ranks(std::span<const int> ranks) {
    const bool are_in_a_row = ranks.back() - ranks.front() + 1 == std::ssize(ranks);
    if (are_in_a_row && ranks.size() > 2) {
        return "ranks " + std::to_string(ranks.front()) + " to " + std::to_string(ranks.back());
    }
    constexpr std::size_t max = 8;
    std::string text = ranks.size() == 1 ? "rank " : "ranks ";
    for (std::size_t i = 0; i < std::min(max, ranks.size()); ++i) {
        text += (i == 0 ? "" : ", ") + std::to_string(ranks[i]);
    }
    return text + (ranks.size() > max ? " ..." : "");
}

std::string describe_axes(const spec::Parallel& parallel) {
    std::string text;
    if (parallel.has_grid()) {
        const auto side = std::to_string(parallel.tensor);
        text += parallel.has_cube() ? "; cube " + side + " x "
                : parallel.tensor_depth > 1
                    ? "; " + std::to_string(parallel.tensor_depth) + " copies of a grid "
                    : "; grid ";
        text += side + " x " + side;
    } else if (parallel.tensor > 1) {
        text += parallel.sequence ? "; sequence on" : "; sequence off";
    }
    if (parallel.stages > 1) {
        text += std::string{"; schedule "} +
                spec::keyword_of(parallel.pipeline_schedule, parallel.chunks_per_stage);
        text += parallel.chunks_per_stage > 1
                    ? ", " + std::to_string(parallel.chunks_per_stage) + " chunks a stage"
                    : "";
    }
    return text;
}

std::string describe_sequence_groups(const spec::Parallel& parallel) {
    const auto degree = parallel.data_degree();
    const auto text = "data " + std::to_string(degree);
    return parallel.has_grid()
               ? text + " x tensor rows " + std::to_string(parallel.sequence_groups() / degree)
               : text;
}

std::string describe_nodes(const spec::Parallel& parallel,
                           std::span<const int> node_of,
                           std::span<const std::string> names) {
    const auto nodes = ranks_by_node(node_of);
    if (nodes.size() < 2) {
        return "";
    }
    constexpr std::size_t max = 4;
    std::string text;
    for (std::size_t node = 0; node < nodes.size(); ++node) {
        const bool is_reported = nodes.size() <= max || node + 1 < max || node + 1 == nodes.size();
        if (is_reported) {
            text += names.empty() ? "node " + std::to_string(node) : names[node];
            text += ": " + list_ranks(nodes[node]) + "; ";
        } else if (node + 1 == max) {
            text += "...; ";
        }
    }
    const Mesh mesh{parallel};
    std::string groups;
    for (const auto axis : {Axis::tensor, Axis::tensor_row, Axis::context, Axis::data, Axis::pipeline}) {
        if (mesh.degree(axis) > 1) {
            const int across = widest_group(mesh, axis, node_of).num_nodes;
            groups += (groups.empty() ? "" : ", ") + std::string{name_of(axis)} + " groups ";
            groups += across == 1 ? "within nodes" : "across " + std::to_string(across);
        }
    }
    return text + groups;
}

std::string keep_tensor_groups_together(const spec::Parallel& parallel, std::span<const int> node_of) {
    if (!std::ranges::is_sorted(node_of)) {
        return "Start the ranks of a node one after the other (mpirun --map-by slot, srun "
               "--distribution=block).";
    }
    const Mesh reordered{with_tensor_first(parallel)};
    if (widest_group(reordered, Axis::tensor, node_of).num_nodes == 1) {
        return "Put tensor first in parallel.order.";
    }
    // Becomes the common divisor with the ranks of every node.
    int divisor = parallel.tensor;
    for (const auto& ranks : ranks_by_node(node_of)) {
        divisor = std::gcd(divisor, static_cast<int>(ranks.size()));
    }
    const auto degree = std::to_string(parallel.tensor);
    return "Start a multiple of " + degree + " ranks on each node" +
           (divisor > 1 ? ", or use parallel.tensor: " + std::to_string(divisor) : "") + ".";
}

}  // namespace ziggurat::layout
