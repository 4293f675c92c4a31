#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "plan/recompute/exact_recompute.hpp"
#include "plan/recompute/greedy_recompute.hpp"
#include "plan/recompute/recompute_graph.hpp"

namespace ziggurat::plan {
namespace {

/// Layers of four ops: a product, a pointwise op, and two products that read its result.
///
/// Backward does not read the result of the pointwise op.
LayerGraph branching_layer(std::int64_t layers) {
    constexpr std::int64_t MiB = 1 << 20;
    return {
        .layers = layers,
        .ops = {{.name = "a", .seconds = 5e-3, .writes = {0}},
                {.name = "b", .seconds = 1e-3, .is_selective = true, .reads = {0}, .writes = {1}},
                {.name = "c", .seconds = 4e-3, .reads = {1}, .writes = {2}},
                {.name = "d", .seconds = 2e-3, .reads = {1, 2}, .writes = {3, 4}}},
        .values = {{.name = "A", .bytes = 7 * MiB, .made_by = 0, .is_for_backward = true, .read_by = {1}},
                   {.name = "B", .bytes = 3 * MiB, .made_by = 1, .is_for_backward = false, .read_by = {2, 3}},
                   {.name = "C", .bytes = 5 * MiB, .made_by = 2, .is_for_backward = true, .read_by = {3}},
                   {.name = "D", .bytes = 2 * MiB, .made_by = 3, .is_for_backward = true},
                   {.name = "E", .bytes = 1 * MiB, .made_by = 3, .is_for_backward = true}}};
}

RecomputeGraph small_graph() {
    return {.kinds = {branching_layer(2), branching_layer(1)}, .in_flight = 2, .micro_batches = 3};
}

/// Calls `visit` with each choice of a graph.
void for_each_choice(const RecomputeGraph& graph, const std::function<void(const RecomputeChoice&)>& visit) {
    auto choice = keep_all(graph);
    while (true) {
        visit(choice);
        std::size_t k = 0, v = 0;
        while (k < choice.size() && choice[k][v] == graph.kinds[k].layers) {
            choice[k][v] = 0;
            if (++v == choice[k].size()) {
                v = 0;
                ++k;
            }
        }
        if (k == choice.size()) {
            return;
        }
        ++choice[k][v];
    }
}

double min_seconds(const RecomputeGraph& graph, std::int64_t budget) {
    double min = std::numeric_limits<double>::infinity();
    for_each_choice(graph, [&](const RecomputeChoice& choice) {
        const auto cost = cost_of(graph, choice);
        min = cost.bytes <= budget ? std::min(min, cost.seconds) : min;
    });
    return min;
}

std::vector<std::int64_t> budgets_of(const RecomputeGraph& graph) {
    const auto all = cost_of(graph, keep_all(graph)).bytes;
    return {all, all * 9 / 10, all * 3 / 4, all / 2, all / 3, all / 4, all / 5};
}

/// Layers that choose for themselves: each a mask of ops. The layer that recomputes most comes first.
std::int64_t min_bytes_of_single_layers(const LayerGraph& kind,
                                        std::int64_t in_flight,
                                        const std::vector<int>& masks) {
    std::int64_t kept = 0;
    std::int64_t of_last = std::numeric_limits<std::int64_t>::max();
    for (const int mask : masks) {
        const auto is_redone = [&](int op) { return (mask >> op & 1) != 0; };
        std::int64_t redone = 0;
        for (const auto& value : kind.values) {
            bool is_needed = value.is_for_backward;
            for (const int reader : value.read_by) {
                is_needed = is_needed || is_redone(reader);
            }
            kept += is_needed && !is_redone(value.made_by) ? value.bytes : 0;
            redone += value.is_for_backward && is_redone(value.made_by) ? value.bytes : 0;
        }
        of_last = std::min(of_last, redone);
    }
    return in_flight * kept + of_last;
}

TEST(RecomputeChoice, CountsOfLayersLoseNothingToLayersThatChooseForThemselves) {
    const RecomputeGraph graph{.kinds = {branching_layer(2)}, .in_flight = 2, .micro_batches = 1};
    const auto& kind = graph.kinds.front();
    for (const auto budget : budgets_of(graph)) {
        double min = std::numeric_limits<double>::infinity();
        for (int first = 0; first < 16; ++first) {
            for (int second = 0; second < 16; ++second) {
                double seconds = 0;
                for (std::size_t op = 0; op < kind.ops.size(); ++op) {
                    seconds += kind.ops[op].seconds * ((first >> op & 1) + (second >> op & 1));
                }
                const bool fits =
                    min_bytes_of_single_layers(kind, graph.in_flight, {first, second}) <= budget;
                min = fits ? std::min(min, seconds) : min;
            }
        }
        EXPECT_DOUBLE_EQ(min_seconds(graph, budget), min) << budget;
    }
}

TEST(RecomputeChoice, TheGreedyOneFitsAndIsNotFasterThanTheFastest) {
    const auto graph = small_graph();
    for (const auto budget : budgets_of(graph)) {
        const double min = min_seconds(graph, budget);
        const auto greedy = greedy_recompute(graph, budget);
        ASSERT_EQ(greedy.has_value(), min < 1) << budget;
        if (greedy) {
            const auto cost = cost_of(graph, *greedy);
            EXPECT_LE(cost.bytes, budget);
            EXPECT_GE(cost.seconds, min - 1e-12);
            // An op of one of three layers is a large part of all. RecomputeGap has the bound for real
            // layers.
            EXPECT_LE(cost.seconds, 1.5 * min + 1e-9) << budget;
        }
    }
    EXPECT_EQ(*greedy_recompute(graph, budgets_of(graph).front()), keep_all(graph));
}

TEST(RecomputeChoice, KindsOfDecksAreChoices) {
    const auto graph = small_graph();
    EXPECT_EQ(choice_of_kind(graph, spec::RecomputeKind::none), keep_all(graph));
    EXPECT_EQ(choice_of_kind(graph, spec::RecomputeKind::selective), keep_all(graph))
        << "backward needs no B";
    const RecomputeChoice all{{2, 2, 2, 2}, {1, 1, 1, 1}};
    EXPECT_EQ(choice_of_kind(graph, spec::RecomputeKind::full), all);
    constexpr std::int64_t MiB = 1 << 20;
    EXPECT_EQ(cost_of(graph, all).bytes, 15 * MiB) << "values of one layer";
    EXPECT_DOUBLE_EQ(cost_of(graph, all).seconds, 3 * 3 * 12e-3);
    EXPECT_EQ(cost_of(graph, keep_all(graph)).bytes, 2 * 3 * 15 * MiB);
}

TEST(RecomputeChoice, ReadsSolutionsOfTheSolver) {
    const auto graph = small_graph();
    const auto read = read_solution(graph,
                                    "Optimal - objective value 12.00000000\n"
                                    "      0 r0_1                   2                    0.003\n"
                                    "      5 all0_1                 1                        0\n"
                                    "      7 r1_3          0.99999999                        0\n");
    EXPECT_TRUE(read.is_proven);
    EXPECT_EQ(read.choice, (RecomputeChoice{{0, 2, 0, 0}, {0, 0, 0, 1}}));
    EXPECT_FALSE(read_solution(graph, "Stopped on time - objective value 12.0\n").is_proven);
    const auto none = read_solution(graph, "Infeasible - objective value 0.0\n");
    EXPECT_TRUE(none.is_proven && !none.choice);
    EXPECT_THROW(read_solution(graph, "Unbounded - objective value 0.0\n"), Error);
}

/// Runs the solver. Without it, this test is skipped: scripts/setup.sh --tests installs it.
TEST(RecomputeChoice, TheExactOneIsTheFastestOfAll) {
    if (std::system("command -v cbc >/dev/null") != 0) {
        FAIL() << "cbc is not installed: scripts/setup.sh --tests";
    }
    const auto graph = small_graph();
    for (const auto budget : budgets_of(graph)) {
        const double min = min_seconds(graph, budget);
        const auto exact = exact_recompute(graph, budget);
        ASSERT_TRUE(exact.is_proven);
        ASSERT_EQ(exact.choice.has_value(), min < 1) << budget;
        if (exact.choice) {
            EXPECT_NEAR(cost_of(graph, *exact.choice).seconds, min, 1e-9) << budget;
        }
    }
}

TEST(RecomputeChoice, NamesThePackageOfAMissingSolver) {
    const auto graph = small_graph();
    try {
        exact_recompute(graph, 1 << 20, {.program = "no-such-solver"});
        FAIL();
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::resource);
        EXPECT_NE(std::string{error.what()}.find("apt-get install coinor-cbc"), std::string::npos)
            << error.what();
    }
}

}  // namespace
}  // namespace ziggurat::plan
