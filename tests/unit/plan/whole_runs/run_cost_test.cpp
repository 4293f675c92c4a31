#include "plan/run_cost.hpp"

#include <gtest/gtest.h>

#include "plan/cost/energy_uses.hpp"
#include "plan/planned_time.hpp"
#include "plan/run_goodput.hpp"
#include "schedule/build_program.hpp"
#include "tests/unit/plan/two_nodes.hpp"

namespace ziggurat::plan {
namespace {

spec::RunSpec thousand_steps() {
    auto spec = test::run_on_two_nodes("gpt2");
    spec.train.steps = 1000;
    return spec;
}

PlannedTime steps_of_three_seconds() {
    PlannedTime time;
    time.step_seconds = 3;
    time.stages.push_back({.stage = 0, .stages = 1, .time = {}});
    return time;
}

TEST(RunCost, IsTheTimeOfAllNodes) {
    auto machine = test::machine_of_two_ranks();
    machine.price_per_hour = 36;
    machine.power = 500;
    const auto cost = cost_of_run(thousand_steps(), machine, steps_of_three_seconds());
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
    EXPECT_DOUBLE_EQ(cost_of_run(spec, machine, steps_of_three_seconds()).seconds, 3000 / goodput->share);
}

TEST(RunCost, AddsTheEnergyOfWorkToThatOfIdleNodes) {
    auto machine = test::machine_of_two_ranks();
    machine.power = 500;
    machine.idle_power = 100;
    const auto spec = thousand_steps();
    auto time = steps_of_three_seconds();
    auto& uses = time.stages.front().time.uses;
    uses[spec::EnergyUse::fp32_flop] = 2e12;
    uses[spec::EnergyUse::device_byte] = 3e9;
    uses[spec::EnergyUse::network_byte] = 1e9;
    ASSERT_EQ(spec.precision.compute, spec::DType::f32);
    EXPECT_DOUBLE_EQ(cost_of_run(spec, machine, time).joules.value(), 2 * 500 * 3000.0)
        << "power alone is known";

    machine.energy.joules[spec::EnergyUse::bf16_flop] = 1e-12;
    EXPECT_EQ(energy_basis(machine, spec.precision.compute), EnergyBasis::power) << "of another type";
    machine.energy.joules[spec::EnergyUse::fp32_flop] = 5e-12;
    machine.energy.joules[spec::EnergyUse::device_byte] = 1e-9;
    EXPECT_EQ(energy_basis(machine, spec.precision.compute), EnergyBasis::work);
    EXPECT_DOUBLE_EQ(cost_of_run(spec, machine, time).joules.value(),
                     2 * 100 * 3000.0 + 1000 * 4 * (2e12 * 5e-12 + 3e9 * 1e-9))
        << "four ranks; links whose energy is unknown count 0";
}

/// Adds up the work of all ops of all ranks, without extrapolation.
EnergyUses uses_of_all_ranks(const spec::RunSpec& spec) {
    EnergyUses all{};
    for (int rank = 0; rank < spec.parallel.ranks; ++rank) {
        const auto program = schedule::build_program(spec, rank, schedule::Variant::train);
        for (const auto& op : energy_uses(program, spec, spec.parallel.ranks_per_node)) {
            for (std::size_t use = 0; use < all.size(); ++use) {
                all[use] += op[use];
            }
        }
    }
    return all;
}

TEST(RunCost, CountsTheWorkOfManyLayersFromFew) {
    auto spec = test::run_on_two_nodes("gpt2");
    spec.model.layers = 24;
    spec.train.micro_batches = 8;
    const auto exact = uses_of_all_ranks(spec);
    const auto planned = planned_time(spec, test::machine_of_two_ranks());
    ASSERT_EQ(planned.stages.size(), 1U);
    for (std::size_t use = 0; use < exact.size(); ++use) {
        EXPECT_NEAR(planned.stages.front().time.uses[use] * spec.parallel.ranks, exact[use],
                    0.02 * exact[use])
            << use;
    }
    EXPECT_GT(exact[spec::EnergyUse::fp32_flop], 0);
    EXPECT_GT(exact[spec::EnergyUse::device_byte], 0);
    EXPECT_GT(exact[spec::EnergyUse::network_byte], 0);
    EXPECT_EQ(exact[spec::EnergyUse::bf16_flop], 0);
}

TEST(RunCost, ProductsOfNarrowLayersMoveMoreBytesForAFlop) {
    const auto bytes_per_flop = [](std::int64_t hidden) {
        auto spec = test::run_on_two_nodes("gpt2");
        spec.model.hidden = hidden;
        spec.model.head_dim = hidden / spec.model.heads;
        spec.model.ffn_hidden = 4 * hidden;
        const auto uses = uses_of_all_ranks(spec);
        return uses[spec::EnergyUse::device_byte] / uses[spec::EnergyUse::fp32_flop];
    };
    EXPECT_GT(bytes_per_flop(64), 1.5 * bytes_per_flop(256));
}

TEST(RunCost, IsUnknownWithoutPriceOrPower) {
    const auto cost = cost_of_run(thousand_steps(), test::machine_of_two_ranks(), steps_of_three_seconds());
    EXPECT_FALSE(objective_of(cost, JobObjective::cost));
    EXPECT_FALSE(objective_of(cost, JobObjective::energy));
    EXPECT_DOUBLE_EQ(objective_of(cost, JobObjective::time).value(), 3000);
}

}  // namespace
}  // namespace ziggurat::plan
