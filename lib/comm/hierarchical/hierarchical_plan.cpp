#include "comm/hierarchical/hierarchical_plan.hpp"

#include <algorithm>
#include <utility>

#include "base/contract.hpp"
#include "base/pages.hpp"

namespace ziggurat::comm {
namespace {

constexpr std::int64_t largest_piece_bytes = 256 * 1024;
constexpr std::int64_t bytes_per_call = 4 * 1024 * 1024;
constexpr std::int64_t partial_sum_bytes = 4;  // per element, fp32

std::vector<std::vector<int>> members_by_node(const std::vector<int>& node_of_member) {
    std::vector<std::vector<int>> members;
    for (std::size_t m = 0; m < node_of_member.size(); ++m) {
        const int node = node_of_member[m];
        ZG_EXPECTS(node >= 0 && node <= std::ssize(members));
        if (node == std::ssize(members)) {
            members.emplace_back();
        }
        members[node].push_back(static_cast<int>(m));
    }
    return members;
}

std::vector<SumPart> parts_of(const std::vector<int>& node_of_member, int sum_group) {
    const int size = static_cast<int>(node_of_member.size());
    const int longest = sum_group == 0 ? size : std::min(sum_group, size);
    std::vector<SumPart> parts;
    for (int first = 0, run = 0; first < size; first += longest, ++run) {
        const int count = std::min(longest, size - first);
        const auto begin = node_of_member.begin() + first;
        const bool is_on_one_node = std::equal(begin + 1, begin + count, begin);
        const int step = is_on_one_node ? count : 1;
        for (int m = first; m < first + count; m += step) {
            parts.push_back({.first = m, .count = step, .node = node_of_member[m], .run = run});
        }
    }
    return parts;
}

}  // namespace

HierarchicalPlan::HierarchicalPlan(std::vector<int> node_of_member, int sum_group)
    : node_of_{std::move(node_of_member)},
      members_on_{members_by_node(node_of_)},
      sum_group_{sum_group},
      parts_{parts_of(node_of_, sum_group)} {
    ZG_EXPECTS(!node_of_.empty() && sum_group >= 0);
    for (std::size_t p = 0; p < parts_.size(); ++p) {
        part_of_.insert(part_of_.end(), parts_[p].count, static_cast<int>(p));
    }
    std::int64_t max_staged = 1;
    for (int m = 0; m < size(); ++m) {
        max_staged = std::max<std::int64_t>(max_staged, num_staged(m));
    }
    const std::int64_t share = round_down_to_page(bytes_per_call / (depth * max_staged));
    piece_elements_ = std::clamp(share, page_bytes, largest_piece_bytes) / partial_sum_bytes;
}

int HierarchicalPlan::turn_of(int node, int owner) const {
    ZG_EXPECTS(node_of(owner) != node);
    const auto members = members_on(node);
    return owner -
           static_cast<int>(std::lower_bound(members.begin(), members.end(), owner) - members.begin());
}

int HierarchicalPlan::gatherer(int node, int owner) const {
    const auto members = members_on(node);
    return members[turn_of(node, owner) % members.size()];
}

int HierarchicalPlan::summer(const SumPart& part, int owner) const {
    const int gathers = gatherer(part.node, owner);
    return part.has(gathers) ? gathers : part.first + turn_of(part.node, owner) % part.count;
}

int HierarchicalPlan::num_staged(int member) const {
    const SumPart& own = part_of(member);
    int staged = static_cast<int>(
        std::count_if(parts_.begin(), parts_.end(), [&](const SumPart& p) { return p.node != own.node; }));
    for (int owner = 0; owner < size() && own.count > 1; ++owner) {
        staged += node_of(owner) != own.node && summer(own, owner) == member ? 1 : 0;
    }
    return staged;
}

std::int64_t HierarchicalPlan::staging_bytes(int member) const {
    return depth * num_staged(member) * piece_elements_ * partial_sum_bytes;
}

}  // namespace ziggurat::comm
