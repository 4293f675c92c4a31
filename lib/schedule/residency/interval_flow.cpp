#include "schedule/residency/interval_flow.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <queue>
#include <utility>

namespace ziggurat::schedule {
namespace {

/// Values per unit of size are rounded to this part of one.
constexpr double value_scale = 1024;
constexpr std::int64_t unreached = std::numeric_limits<std::int64_t>::max() / 4;

/// Network whose arcs lead from lower to higher nodes before the first augmentation.
class IntervalNetwork {
  public:
    explicit IntervalNetwork(int nodes) : leaving_(nodes), potential_(nodes, 0) {}

    /// Returns the index of the new arc.
    int add(int from, int to, std::int64_t capacity, std::int64_t cost) {
        const auto index = static_cast<int>(arcs_.size());
        arcs_.push_back({to, capacity, cost});
        arcs_.push_back({from, 0, -cost});
        leaving_[from].push_back(index);
        leaving_[to].push_back(index + 1);
        return index;
    }

    /// Sends `wanted` from the first node to the last, at minimum cost.
    void send(std::int64_t wanted) {
        find_first_potentials();
        while (wanted > 0 && find_shortest_path()) {
            wanted -= augment(wanted);
        }
    }

    std::int64_t flow(int arc) const { return arcs_[arc + 1].capacity; }

  private:
    struct Arc {
        int to = 0;
        std::int64_t capacity = 0;
        std::int64_t cost = 0;
    };

    /// Sets the distance of each node, so that no arc has a negative reduced cost.
    void find_first_potentials() {
        std::fill(potential_.begin() + 1, potential_.end(), unreached);
        for (std::size_t node = 0; node < leaving_.size(); ++node) {
            for (const int a : leaving_[node]) {
                const auto& arc = arcs_[a];
                if (arc.capacity > 0) {
                    potential_[arc.to] = std::min(potential_[arc.to], potential_[node] + arc.cost);
                }
            }
        }
    }

    bool find_shortest_path() {
        using NodeDistance = std::pair<std::int64_t, int>;
        std::vector<std::int64_t> distance(leaving_.size(), unreached);
        reached_by_.assign(leaving_.size(), -1);
        std::priority_queue<NodeDistance, std::vector<NodeDistance>, std::greater<>> next;
        distance[0] = 0;
        next.emplace(0, 0);
        while (!next.empty()) {
            const auto [length, node] = next.top();
            next.pop();
            if (length > distance[node]) {
                continue;
            }
            for (const int a : leaving_[node]) {
                const auto& arc = arcs_[a];
                const auto by_arc = length + arc.cost + potential_[node] - potential_[arc.to];
                if (arc.capacity > 0 && by_arc < distance[arc.to]) {
                    distance[arc.to] = by_arc;
                    reached_by_[arc.to] = a;
                    next.emplace(by_arc, arc.to);
                }
            }
        }
        for (std::size_t node = 0; node < potential_.size(); ++node) {
            potential_[node] += std::min(distance[node], distance.back());
        }
        return distance.back() < unreached;
    }

    /// Sends as much as the shortest path can take. Returns the amount.
    std::int64_t augment(std::int64_t wanted) {
        const auto for_each_arc = [&](auto&& use) {
            for (auto node = static_cast<int>(leaving_.size()) - 1; node != 0;) {
                const int arc = reached_by_[node];
                use(arc);
                node = arcs_[arc ^ 1].to;
            }
        };
        for_each_arc([&](int arc) { wanted = std::min(wanted, arcs_[arc].capacity); });
        for_each_arc([&](int arc) {
            arcs_[arc].capacity -= wanted;
            arcs_[arc ^ 1].capacity += wanted;
        });
        return wanted;
    }

    std::vector<Arc> arcs_;  ///< each is followed by its reverse
    std::vector<std::vector<int>> leaving_;
    std::vector<std::int64_t> potential_;
    std::vector<int> reached_by_;
};

}  // namespace

std::vector<std::int64_t> pack_intervals(const std::vector<WeightedInterval>& intervals,
                                         const std::vector<std::int64_t>& capacity) {
    if (intervals.empty() || capacity.empty()) {
        return std::vector<std::int64_t>(intervals.size(), 0);
    }
    const auto steps = static_cast<int>(capacity.size());
    const auto total = std::ranges::max(capacity);
    std::vector<std::int64_t> cost;
    // The flow that passes a step outside of its capacity is worth more than all intervals together.
    std::int64_t of_rest = 1;
    for (const auto& interval : intervals) {
        cost.push_back(-std::llround(value_scale * static_cast<double>(interval.value) /
                                     static_cast<double>(interval.size)));
        of_rest -= cost.back();
    }
    IntervalNetwork network{steps + 1};
    for (int step = 0; step < steps; ++step) {
        network.add(step, step + 1, total - capacity[step], -of_rest);
        network.add(step, step + 1, capacity[step], 0);
    }
    std::vector<int> arcs;
    for (std::size_t i = 0; i < intervals.size(); ++i) {
        arcs.push_back(network.add(intervals[i].begin, intervals[i].end, intervals[i].size, cost[i]));
    }
    network.send(total);
    std::vector<std::int64_t> packed;
    for (const int arc : arcs) {
        packed.push_back(network.flow(arc));
    }
    return packed;
}

}  // namespace ziggurat::schedule
