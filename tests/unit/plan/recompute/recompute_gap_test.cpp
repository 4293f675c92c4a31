/// The greedy choice of recomputation next to the exact one, for layers of real models.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <string>

#include "plan/planned_time.hpp"
#include "plan/recompute/exact_recompute.hpp"
#include "plan/recompute/greedy_recompute.hpp"
#include "plan/recompute/recompute_graph.hpp"
#include "tests/unit/plan/recompute/layers_to_recompute.hpp"

namespace ziggurat::plan {
namespace {

TEST(RecomputeGap, TheExactStepIsAtMostThreePercentShorterThanTheGreedyOne) {
    if (std::system("command -v cbc >/dev/null") != 0) {
        FAIL() << "cbc is not installed: scripts/setup.sh --tests";
    }
    for (const char* family : {"gpt2", "llama"}) {
        const auto spec = test::layers_to_recompute(family, 24);
        const auto graph = recompute_graph(spec, 0, rates_of(spec, test::gpu_to_recompute()));
        ASSERT_EQ(graph.kinds.size(), 1U);
        ASSERT_EQ(graph.kinds.front().layers, 24);
        const double step = planned_time(without_recomputation(spec), test::gpu_to_recompute()).step_seconds;
        const auto min = cost_of(graph, choice_of_kind(graph, spec::RecomputeKind::full)).bytes;
        const auto max = cost_of(graph, keep_all(graph)).bytes;
        ASSERT_LT(min, max);
        for (const int tenths : {0, 2, 4, 6, 8}) {
            const auto budget = min + (max - min) * tenths / 10;
            const auto greedy = greedy_recompute(graph, budget);
            const auto exact = exact_recompute(graph, budget);
            ASSERT_TRUE(greedy && exact.choice && exact.is_proven) << family << " " << tenths;
            const double of_greedy = step + cost_of(graph, *greedy).seconds;
            const double of_exact = step + cost_of(graph, *exact.choice).seconds;
            EXPECT_LE(cost_of(graph, *greedy).bytes, budget);
            EXPECT_LE(of_exact, of_greedy * (1 + 1e-9)) << family << " " << tenths;
            EXPECT_LE(of_greedy, 1.03 * of_exact) << family << " " << tenths;
            RecordProperty(std::string{family} + std::to_string(tenths),
                           std::to_string(of_greedy / of_exact - 1));
        }
    }
}

}  // namespace
}  // namespace ziggurat::plan
