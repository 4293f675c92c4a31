#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "doctor/launch_checks.hpp"
#include "doctor/merge.hpp"

namespace ziggurat::doctor {
namespace {

constexpr const char* check = "cores";

/// All ranks of a node.
struct NodeCores {
    std::string host;
    std::vector<int> ranks;
    std::map<int, std::set<int>> ranks_of_core;
    std::set<int> cpus;
    int job_cores = 0;
    int threads = 0;  ///< requested by the environment, over all ranks, at least one per rank
    int core_limit = 0;

    int all() const { return std::max(limited(job_cores), used()); }
    int used() const { return limited(static_cast<int>(ranks_of_core.size())); }
    /// Cores that no rank may use.
    int idle() const { return all() - used(); }
    /// Threads that can run at the same time.
    int side_by_side() const { return limited(static_cast<int>(cpus.size())); }
    int limited(int cores) const { return core_limit > 0 ? std::min(cores, core_limit) : cores; }
    /// Ranks that are bound to the same core; nullptr if each core has at most one rank.
    const std::set<int>* shared() const {
        const auto found =
            std::ranges::find_if(ranks_of_core, [](const auto& core) { return core.second.size() > 1; });
        return found == ranks_of_core.end() ? nullptr : &found->second;
    }
};

std::map<int, NodeCores> nodes_of(const std::vector<RankCores>& by_rank) {
    std::map<int, NodeCores> nodes;
    for (std::size_t rank = 0; rank < by_rank.size(); ++rank) {
        const auto& mine = by_rank[rank];
        auto& node = nodes[mine.node];
        node.host = mine.host;
        node.ranks.push_back(static_cast<int>(rank));
        for (const int cpu : mine.cpus) {
            const auto core = mine.core_of.find(cpu);
            node.ranks_of_core[core == mine.core_of.end() ? cpu : core->second].insert(
                static_cast<int>(rank));
            node.cpus.insert(cpu);
        }
        node.job_cores = std::max(node.job_cores, mine.job_cores);
        node.threads += std::max(mine.threads, 1);
        node.core_limit = mine.core_limit;
    }
    return nodes;
}

Diagnosis diagnose_node(const NodeCores& node) {
    const auto num_ranks = static_cast<int>(node.ranks.size());
    const auto remedy = fmt::format(
        "Start with 'mpirun --bind-to core --map-by slot:PE={0}', or --bind-to none; with Slurm "
        "'srun --cpus-per-task={0}', or --cpu-bind=none.",
        std::max(1, node.all() / num_ranks));
    if (const auto* ranks_on_device = node.shared(); ranks_on_device != nullptr && node.idle() > 0) {
        return warning(check,
                       fmt::format("ranks {} are bound to one core, and {} of {} cores are idle",
                                   fmt::join(*ranks_on_device, " and "), node.idle(), node.all()),
                       remedy, Scope::node);
    }
    if (node.threads > node.side_by_side()) {
        const auto what = node.threads == num_ranks ? fmt::format("{} ranks", num_ranks)
                                                    : fmt::format("{} threads of {} rank{}", node.threads,
                                                                  num_ranks, num_ranks == 1 ? "" : "s");
        return warning(
            check,
            fmt::format("{} have {} core{}", what, node.side_by_side(), node.side_by_side() == 1 ? "" : "s"),
            node.idle() > 0 ? remedy : "Start fewer ranks on the node, or set OMP_NUM_THREADS to fewer.",
            Scope::node);
    }
    if (node.idle() >= num_ranks) {
        return warning(check,
                       fmt::format("{} {} bound to {} of {} cores", num_ranks,
                                   num_ranks == 1 ? "rank is" : "ranks are", node.used(), node.all()),
                       remedy, Scope::node);
    }
    return ok_diagnosis(check,
                        fmt::format("{} rank{} on {} of {} cores", num_ranks, num_ranks == 1 ? "" : "s",
                                    node.used(), node.all()),
                        Scope::node);
}

}  // namespace

Diagnoses diagnose_cores(const std::vector<RankCores>& by_rank) {
    std::vector<RankDiagnoses> reports;
    for (const auto& [number, node] : nodes_of(by_rank)) {
        reports.push_back({node.host, number, {diagnose_node(node)}});
    }
    return merge(reports);
}

}  // namespace ziggurat::doctor
