#include "train/report/banner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

namespace ziggurat::train {
namespace {

constexpr std::size_t label_width = 10;

/// Ranks, threads and cores of one node.
struct Node {
    std::string host;
    int num_ranks = 0;
    int num_threads = 0;
    int min_threads = 0;
    int max_threads = 0;
    int job_cores = 0;
    std::set<int> cores;
    std::set<int> whole_cores;
};

/// Returns the nodes in the order of their first ranks.
std::vector<Node> nodes_of(std::span<const RankPlacement> ranks) {
    std::vector<Node> nodes;
    for (const RankPlacement& rank : ranks) {
        auto node =
            std::find_if(nodes.begin(), nodes.end(), [&](const Node& n) { return n.host == rank.host; });
        if (node == nodes.end()) {
            node = nodes.insert(
                nodes.end(),
                {.host = rank.host, .min_threads = rank.threads, .cores = {}, .whole_cores = {}});
        }
        ++node->num_ranks;
        node->num_threads += rank.threads;
        node->min_threads = std::min(node->min_threads, rank.threads);
        node->max_threads = std::max(node->max_threads, rank.threads);
        node->job_cores = std::max(node->job_cores, rank.job_cores);
        node->cores.insert(rank.cores.begin(), rank.cores.end());
        node->whole_cores.insert(rank.whole_cores.begin(), rank.whole_cores.end());
    }
    return nodes;
}

std::string counted(std::size_t count, const char* what) {
    return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

std::string make_up(const Node& node) {
    const std::string threads = node.min_threads == node.max_threads
                                    ? counted(node.max_threads, "thread")
                                    : fmt::format("{} to {} threads", node.min_threads, node.max_threads);
    return fmt::format("{} with {} each on {}", counted(node.num_ranks, "rank"), threads,
                       counted(node.cores.size(), "core"));
}

}  // namespace

std::string banner(std::span<const BannerEntry> entries) {
    std::string text;
    for (const BannerEntry& entry : entries) {
        std::string label = entry.label;
        label.resize(std::max(label.size() + 1, label_width), ' ');
        std::size_t begin = 0;
        while (begin < entry.text.size()) {
            const std::size_t end = std::min(entry.text.find('\n', begin), entry.text.size());
            text += label + entry.text.substr(begin, end - begin) + "\n";
            label.assign(label_width, ' ');
            begin = end + 1;
        }
    }
    return text;
}

std::string describe_places(std::span<const RankPlacement> ranks) {
    std::vector<std::pair<std::string, std::vector<std::string>>> kinds;
    for (const Node& node : nodes_of(ranks)) {
        const std::string kind = make_up(node);
        if (kinds.empty() || kinds.back().first != kind) {
            kinds.push_back({kind, {}});
        }
        kinds.back().second.push_back(node.host);
    }
    std::string text;
    for (const auto& [kind, hosts] : kinds) {
        text += text.empty() ? "" : "\n";
        text += hosts.size() == 1
                    ? fmt::format("{}: {}", hosts.front(), kind)
                    : fmt::format("{} .. {} ({} nodes): {}", hosts.front(), hosts.back(), hosts.size(), kind);
    }
    return text;
}

std::vector<std::string> oversubscription_warnings(std::span<const RankPlacement> ranks) {
    std::vector<std::string> warnings;
    for (const Node& node : nodes_of(ranks)) {
        const int num_cores = static_cast<int>(node.cores.size());
        if (num_cores == 0 || node.num_threads <= num_cores) {
            continue;
        }
        const std::string remedy =
            node.num_ranks > num_cores
                ? fmt::format("Start at most {} here{}", counted(num_cores, "rank"),
                              node.job_cores > num_cores
                                  ? ", or bind ranks to more cores (mpirun --bind-to none)"
                                  : "")
                : fmt::format("Set OMP_NUM_THREADS={}", num_cores / node.num_ranks);
        warnings.push_back(fmt::format("{}: oversubscribed, {} on {}; every step is slower. {}.", node.host,
                                       counted(node.num_threads, "thread"),
                                       counted(node.cores.size(), "core"), remedy));
    }
    return warnings;
}

std::vector<std::string> idle_core_notes(std::span<const RankPlacement> ranks, ThreadsBy by) {
    std::vector<std::string> notes;
    for (const Node& node : nodes_of(ranks)) {
        const int bound = std::min(static_cast<int>(node.whole_cores.size()), node.job_cores);
        const int used = std::min(bound, node.num_threads);
        if (by == ThreadsBy::request || node.job_cores - used < node.num_ranks) {
            continue;
        }
        const auto who = counted(node.num_ranks, "rank");
        const bool is_one = node.num_ranks == 1;
        const int each = node.job_cores / node.num_ranks;
        const auto reason =
            node.job_cores - bound >= node.num_ranks
                ? fmt::format(
                      "to which the launcher has bound {}. To use all: mpirun --bind-to none, srun "
                      "--cpu-bind=none --cpus-per-task={}, or more ranks",
                      is_one ? "it" : "them", each)
            : by == ThreadsBy::environment
                ? fmt::format(
                      "set by OMP_NUM_THREADS or KOKKOS_NUM_THREADS. To use all: OMP_NUM_THREADS={}, or "
                      "more ranks",
                      each)
                : fmt::format(
                      "because all ranks have the number of threads of the rank with the fewest cores. To "
                      "use all: the same number of cores for each rank, or parallel.threads={}",
                      each);
        notes.push_back(fmt::format("{}: {} {} {} of {} cores, {}.", node.host, who, is_one ? "uses" : "use",
                                    used, node.job_cores, reason));
    }
    return notes;
}

}  // namespace ziggurat::train
