#include "plan/run_cost.hpp"

#include <gtest/gtest.h>

#include "plan/run_goodput.hpp"
#include "tests/unit/plan/two_nodes.hpp"

namespace ziggurat::plan {
namespace {

spec::RunSpec thousand_steps() {
    auto spec = test::run_on_two_nodes("gpt2");
    spec.train.steps = 1000;
    return spec;
}

TEST(RunCost, IsTheTimeOfAllNodes) {
    auto machine = test::machine_of_two_ranks();
    machine.price_per_hour = 36;
    machine.power = 500;
    const auto cost = cost_of_run(thousand_steps(), machine, 3.0);
    EXPECT_EQ(cost.nodes, 2) << "four ranks, two on a node";
    EXPECT_DOUBLE_EQ(cost.seconds, 3000);
    EXPECT_DOUBLE_EQ(cost.price.value(), 2 * 36 * 3000 / 3600.0);
    EXPECT_DOUBLE_EQ(cost.joules.value(), 2 * 500 * 3000.0);
}

TEST(RunCost, IncludesTheTimeOfFailures) {
    auto machine = test::machine_of_two_ranks();
    machine.seconds_to_failure = 2000;
    machine.checkpoint_rate = 1e9;
    const auto spec = thousand_steps();
    const auto goodput = run_goodput(spec, machine, 3.0);
    ASSERT_TRUE(goodput);
    EXPECT_LT(goodput->share, 1);
    EXPECT_DOUBLE_EQ(cost_of_run(spec, machine, 3.0).seconds, 3000 / goodput->share);
}

TEST(RunCost, IsUnknownWithoutPriceOrPower) {
    const auto cost = cost_of_run(thousand_steps(), test::machine_of_two_ranks(), 3.0);
    EXPECT_FALSE(objective_of(cost, JobObjective::cost));
    EXPECT_FALSE(objective_of(cost, JobObjective::energy));
    EXPECT_DOUBLE_EQ(objective_of(cost, JobObjective::time).value(), 3000);
}

}  // namespace
}  // namespace ziggurat::plan
