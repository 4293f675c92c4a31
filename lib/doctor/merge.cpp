#include "doctor/merge.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

namespace ziggurat::doctor {
namespace {

constexpr std::size_t max_named = 3;

/// A diagnosis and the ranks that reported it.
struct Group {
    Diagnosis first;
    std::vector<int> ranks;
    bool is_same_everywhere = true;  ///< the same numbers on all ranks
};

bool belongs(const Diagnosis& a, const Diagnosis& b) {
    return a.check == b.check && a.subject == b.subject && a.health == b.health && a.remedy == b.remedy &&
           a.scope == b.scope;
}

/// `vm0, vm1, vm2 and 5 more`
std::string first_few(const std::vector<std::string>& names) {
    const auto shown = std::min(names.size(), max_named);
    const auto list =
        fmt::format("{}", fmt::join(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(shown), ", "));
    return names.size() > shown ? fmt::format("{} and {} more", list, names.size() - shown) : list;
}

std::vector<std::string> hosts_of(const Group& group, const std::vector<RankDiagnoses>& by_rank) {
    std::vector<std::string> hosts;
    for (const int rank : group.ranks) {
        const auto& host = by_rank[rank].host;
        if (std::ranges::find(hosts, host) == hosts.end()) {
            hosts.push_back(host);
        }
    }
    return hosts;
}

/// Returns `on 2 of 4 nodes: vm0, vm1`; empty if the job has only one node or rank.
std::string where(const Group& group, const std::vector<RankDiagnoses>& by_rank, std::size_t num_nodes) {
    const bool is_of_nodes = group.first.scope == Scope::node;
    const auto all = is_of_nodes ? num_nodes : by_rank.size();
    const auto count = group.ranks.size();
    if (all == 1 || group.first.scope == Scope::job) {
        return "";
    }
    const char* what = is_of_nodes ? "nodes" : "ranks";
    const char* end = group.is_same_everywhere ? "" : "; the first of them is shown";
    if (count == all) {
        return fmt::format("on all {} {}{}", all, what, end);
    }
    const auto hosts = first_few(hosts_of(group, by_rank));
    if (is_of_nodes) {
        return fmt::format("on {} of {} nodes: {}{}", count, all, hosts, end);
    }
    std::vector<std::string> ranks;
    for (const int rank : group.ranks) {
        ranks.push_back(std::to_string(rank));
    }
    return count == 1
               ? fmt::format("on rank {} of {}, {}", ranks.front(), all, hosts)
               : fmt::format("on {} of {} ranks: {} on {}{}", count, all, first_few(ranks), hosts, end);
}

}  // namespace

Diagnoses merge(const std::vector<RankDiagnoses>& by_rank) {
    std::vector<Group> groups;
    std::set<int> nodes;
    for (std::size_t rank = 0; rank < by_rank.size(); ++rank) {
        nodes.insert(by_rank[rank].node);
        for (const auto& one : by_rank[rank].found) {
            const auto known =
                std::ranges::find_if(groups, [&](const Group& group) { return belongs(group.first, one); });
            if (known == groups.end()) {
                groups.push_back({one, {static_cast<int>(rank)}});
            } else {
                known->ranks.push_back(static_cast<int>(rank));
                known->is_same_everywhere = known->is_same_everywhere && known->first.found == one.found;
            }
        }
    }
    Diagnoses merged;
    for (const auto& group : groups) {
        merged.push_back(group.first);
        if (const auto location = where(group, by_rank, nodes.size()); !location.empty()) {
            merged.back().found += " (" + location + ")";
        }
    }
    return merged;
}

}  // namespace ziggurat::doctor
