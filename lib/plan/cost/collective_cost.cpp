#include "plan/cost/collective_cost.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace ziggurat::plan {

using schedule::Op;
using schedule::OpKind;

namespace {

/// Returns the length of each run of equal numbers.
std::vector<int> lengths_of_equal(const std::vector<int>& numbers) {
    std::vector<int> lengths;
    for (std::size_t begin = 0; begin < numbers.size();) {
        std::size_t end = begin + 1;
        while (end < numbers.size() && numbers[end] == numbers[begin]) {
            ++end;
        }
        lengths.push_back(static_cast<int>(end - begin));
        begin = end;
    }
    return lengths;
}

}  // namespace

GroupShape group_shape(const schedule::Group& group, int ranks_per_node) {
    std::vector<int> node_of;
    node_of.reserve(group.members.size());
    for (const int member : group.members) {
        node_of.push_back(member / std::max(ranks_per_node, 1));
    }
    if (!std::ranges::is_sorted(node_of)) {
        std::ranges::sort(node_of);
    }
    const auto on_node = lengths_of_equal(node_of);
    return {group.size(), static_cast<int>(on_node.size()),
            on_node.empty() ? group.size() : std::ranges::min(on_node)};
}

std::vector<GroupShape> group_shapes(const schedule::Program& program, int ranks_per_node) {
    std::vector<GroupShape> shapes;
    shapes.reserve(program.groups.size());
    for (const auto& group : program.groups) {
        shapes.push_back(group_shape(group, ranks_per_node));
    }
    return shapes;
}

std::int64_t vector_bytes(const Op& op) {
    const auto bytes_of = [](const std::vector<schedule::Operand>& operands) {
        return operands.empty() ? std::int64_t{0} : operands.front().bytes();
    };
    return std::max(bytes_of(op.reads), bytes_of(op.writes));
}

double collective_seconds(OpKind kind, std::int64_t bytes, const GroupShape& shape, const Rates& rates) {
    if (shape.members < 2) {
        return 0;
    }
    const double passes = kind == OpKind::all_reduce ? 2 : 1;
    const auto sent = [&](double members) {
        return passes * static_cast<double>(bytes) * (members - 1) / members;
    };
    const bool is_within_node = shape.nodes == 1;
    const bool has_neighbours = is_within_node || shape.min_on_node > 1;
    const double inside = has_neighbours ? sent(shape.members) / rates.node_link.bandwidth : 0;
    const double outside =
        is_within_node ? 0 : sent(shape.nodes) / (shape.min_on_node * rates.network_link.bandwidth);
    // Messages between nodes take their latency, those within a node theirs.
    const auto hops = [&](double members) {
        return std::min(members - 1, 2 * std::ceil(std::log2(members)));
    };
    const double latency =
        is_within_node ? hops(shape.members) * rates.node_link.latency
                       : hops(shape.nodes) * rates.network_link.latency +
                             (shape.min_on_node > 1 ? hops(shape.min_on_node) * rates.node_link.latency : 0);
    return passes * latency + std::max(inside, outside);
}

double message_seconds(std::int64_t bytes, bool is_within_node, const Rates& rates) {
    const auto& link = is_within_node ? rates.node_link : rates.network_link;
    return link.latency + static_cast<double>(bytes) / link.bandwidth;
}

}  // namespace ziggurat::plan
