#include "plan/recompute/greedy_recompute.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace ziggurat::plan {
namespace {

/// Ops of one kind of layer that are recomputed together.
struct Move {
    std::size_t kind = 0;
    std::vector<std::size_t> ops;
};

RecomputeChoice after(const RecomputeChoice& choice, const Move& move, std::int64_t layers) {
    auto made = choice;
    for (const auto op : move.ops) {
        auto& redone = made[move.kind][op];
        redone = std::max(redone, layers);
    }
    return made;
}

/// Adds the ops that make inputs of `op` which are not for backward.
void add_makers(const LayerGraph& kind, std::size_t op, std::vector<std::size_t>& ops) {
    for (const int value : kind.ops[op].reads) {
        const auto& read = kind.values[static_cast<std::size_t>(value)];
        const auto maker = static_cast<std::size_t>(read.made_by);
        if (!read.is_for_backward && std::ranges::find(ops, maker) == ops.end()) {
            ops.push_back(maker);
            add_makers(kind, maker, ops);
        }
    }
}

/// Returns the moves that free bytes: an op alone, and with the ops that make its inputs.
std::vector<Move> moves_of(const RecomputeGraph& graph) {
    std::vector<Move> moves;
    for (std::size_t k = 0; k < graph.kinds.size(); ++k) {
        for (std::size_t op = 0; op < graph.kinds[k].ops.size(); ++op) {
            moves.push_back({k, {op}});
            std::vector<std::size_t> with_makers{op};
            add_makers(graph.kinds[k], op, with_makers);
            if (with_makers.size() > 1) {
                moves.push_back({k, std::move(with_makers)});
            }
        }
    }
    return moves;
}

/// Recomputes ops in fewer layers, those that take most time first, as long as the budget suffices.
void recompute_less(const RecomputeGraph& graph, std::int64_t budget, RecomputeChoice& choice) {
    std::vector<std::pair<double, Move>> by_time;
    for (std::size_t k = 0; k < graph.kinds.size(); ++k) {
        for (std::size_t op = 0; op < graph.kinds[k].ops.size(); ++op) {
            by_time.push_back({graph.kinds[k].ops[op].seconds, {k, {op}}});
        }
    }
    std::ranges::stable_sort(by_time, std::ranges::greater{}, &std::pair<double, Move>::first);
    for (const auto& [seconds, move] : by_time) {
        auto& redone = choice[move.kind][move.ops.front()];
        const auto before = redone;
        for (redone = 0; redone < before && cost_of(graph, choice).bytes > budget; ++redone) {}
    }
}

}  // namespace

std::optional<RecomputeChoice> greedy_recompute(const RecomputeGraph& graph, std::int64_t budget) {
    const auto moves = moves_of(graph);
    auto choice = keep_all(graph);
    for (auto now = cost_of(graph, choice); now.bytes > budget; now = cost_of(graph, choice)) {
        const Move* best = nullptr;
        double best_rate = 0;
        for (const auto& move : moves) {
            const auto then = cost_of(graph, after(choice, move, graph.kinds[move.kind].layers));
            if (then.bytes >= now.bytes) {
                continue;
            }
            const double rate = (then.seconds - now.seconds) / static_cast<double>(now.bytes - then.bytes);
            if (best == nullptr || rate < best_rate) {
                best = &move;
                best_rate = rate;
            }
        }
        if (best == nullptr) {
            return std::nullopt;
        }
        std::int64_t layers = 1;
        while (layers < graph.kinds[best->kind].layers &&
               cost_of(graph, after(choice, *best, layers)).bytes > budget) {
            ++layers;
        }
        choice = after(choice, *best, layers);
    }
    recompute_less(graph, budget, choice);
    return choice;
}

}  // namespace ziggurat::plan
