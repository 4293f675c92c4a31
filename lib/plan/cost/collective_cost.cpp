#include "plan/cost/collective_cost.hpp"

#include <algorithm>
#include <cmath>
#include <map>

namespace ziggurat::plan {

using schedule::Op;
using schedule::OpKind;

GroupShape group_shape(const schedule::Group& group, int ranks_per_node) {
    std::map<int, int> on_node;
    for (const int member : group.members) {
        ++on_node[member / std::max(ranks_per_node, 1)];
    }
    GroupShape shape{group.size(), static_cast<int>(on_node.size()), group.size()};
    for (const auto& [node, count] : on_node) {
        shape.min_on_node = std::min(shape.min_on_node, count);
    }
    return shape;
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
