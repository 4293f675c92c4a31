#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "plan/cost/collective_cost.hpp"
#include "plan/cost/op_costs.hpp"
#include "plan/cost/product_cost.hpp"
#include "plan/simulator/pipeline_time.hpp"
#include "plan/simulator/step_time.hpp"
#include "schedule/build_program.hpp"
#include "tests/unit/schedule/small_spec.hpp"

namespace ziggurat::plan {
namespace {

using schedule::OpKind;

TEST(ProductCost, FallsWithShortExtentsAndNeverBelowTheBytes) {
    const spec::ProductRate rate{.flops = 1e12, .half_m = 64, .half_n = 32, .half_k = 0};
    const ProductExtents large{6400, 3200, 1000};
    const double full = large.flops() / 1e12;
    EXPECT_DOUBLE_EQ(product_seconds(large, rate, {.element_bytes = 2}), full * 1.01 * 1.01);
    EXPECT_DOUBLE_EQ(product_seconds({64, 32, 1000}, rate, {.element_bytes = 2}),
                     2 * 64 * 32 * 1000 / 1e12 * 4)
        << "half of each";
    const ProductMemory memory{.element_bytes = 2, .bandwidth = 1e9};
    EXPECT_DOUBLE_EQ(product_seconds({1, 4096, 4096}, rate, memory), 2 * (4096 + 4096 * 4096 + 4096) / 1e9);
}

TEST(ProductCost, ExchangesExtentsInBackward) {
    schedule::Op op;
    op.row_end = 7;
    layout::Phase phase;
    phase.in = 3;
    phase.out = 5;
    const auto extents = [&](schedule::Direction direction) {
        op.direction = direction;
        const auto product = product_of(op, phase);
        return std::vector<double>{product.m, product.n, product.k};
    };
    EXPECT_EQ(extents(schedule::Direction::forward), (std::vector<double>{7, 5, 3}));
    EXPECT_EQ(extents(schedule::Direction::backward_input), (std::vector<double>{7, 3, 5}));
    EXPECT_EQ(extents(schedule::Direction::backward_weight), (std::vector<double>{5, 3, 7}));
}

TEST(CollectiveCost, IsThatOfRingsWithinNodesAndBetweenThem) {
    Rates rates;
    rates.node_link = {.bandwidth = 100, .latency = 0};
    rates.network_link = {.bandwidth = 10, .latency = 0};
    constexpr std::int64_t bytes = 8000;
    EXPECT_DOUBLE_EQ(collective_seconds(OpKind::all_gather, bytes, {8, 1, 8}, rates), 8000.0 * 7 / 8 / 100);
    EXPECT_DOUBLE_EQ(collective_seconds(OpKind::reduce_scatter, bytes, {8, 1, 8}, rates),
                     8000.0 * 7 / 8 / 100);
    EXPECT_DOUBLE_EQ(collective_seconds(OpKind::all_reduce, bytes, {8, 1, 8}, rates),
                     2 * 8000.0 * 7 / 8 / 100);
    EXPECT_DOUBLE_EQ(collective_seconds(OpKind::all_gather, bytes, {4, 4, 1}, rates), 8000.0 * 3 / 4 / 10)
        << "one member of each node";
    EXPECT_DOUBLE_EQ(collective_seconds(OpKind::all_gather, bytes, {8, 2, 4}, rates), 8000.0 / 2 / (4 * 10))
        << "four members share the links of their node";
    EXPECT_DOUBLE_EQ(collective_seconds(OpKind::all_gather, bytes, {1, 1, 1}, rates), 0);
    rates.node_link.latency = 3;
    EXPECT_DOUBLE_EQ(collective_seconds(OpKind::all_gather, 0, {4, 1, 4}, rates), 3 * 3) << "a ring of four";
    EXPECT_DOUBLE_EQ(collective_seconds(OpKind::all_reduce, 0, {64, 1, 64}, rates), 2 * 2 * 6 * 3)
        << "a tree";
}

TEST(CollectiveCost, CountsTheMembersOfNodes) {
    EXPECT_EQ(group_shape({"data", {0, 1, 2, 3}, 0}, 4), (GroupShape{4, 1, 4}));
    EXPECT_EQ(group_shape({"data", {0, 4, 8, 12}, 0}, 4), (GroupShape{4, 4, 1}));
    EXPECT_EQ(group_shape({"data", {0, 1, 2, 3, 4}, 0}, 4), (GroupShape{5, 2, 1}))
        << "the smallest part counts";
    EXPECT_EQ(group_shape({"data", {9, 0, 4, 1, 8}, 0}, 4), (GroupShape{5, 3, 1}))
        << "members of a node need not be adjacent";
}

TEST(PipelineTime, HasTheBubbleOfTheory) {
    for (const auto schedule : {spec::PipelineSchedule::gpipe, spec::PipelineSchedule::one_f_one_b}) {
        for (const int stages : {2, 4, 8}) {
            const int microbatches = 3 * stages;
            const std::vector<StageSlots> slots(stages, {.forward = {1}, .backward = {2}});
            const auto times = pipeline_times({schedule, stages, 1, microbatches}, slots);
            EXPECT_DOUBLE_EQ(times.step_seconds, 3.0 * (microbatches + stages - 1));
            for (const double idle : times.idle_seconds) {
                EXPECT_DOUBLE_EQ(idle / (3.0 * microbatches), (stages - 1.0) / microbatches);
            }
        }
    }
    const std::vector<StageSlots> slots(4, {.forward = {0.5, 0.5}, .backward = {1, 1}});
    const auto times = pipeline_times({spec::PipelineSchedule::interleaved, 4, 2, 16}, slots);
    EXPECT_DOUBLE_EQ(times.step_seconds, 3.0 * 16 + 3.0 * 3 / 2) << "chunks divide the bubble";
}

TEST(PipelineTime, AddsMessagesAndTheWorkOfAStep) {
    std::vector<StageSlots> slots(2, {.forward = {1}, .backward = {2}, .others = 5});
    slots[0].to_next = 0.25;
    slots[1].to_previous = 0.5;
    const auto times = pipeline_times({spec::PipelineSchedule::one_f_one_b, 2, 1, 1}, slots);
    EXPECT_DOUBLE_EQ(times.step_seconds, 1 + 0.25 + 1 + 2 + 0.5 + 2 + 5);
}

/// Returns the time of the messages that a rank sends, whose next context rank is on another node.
double seconds_of_ring(int nodes_in_layout) {
    auto spec = test::small_spec("llama", 4);
    spec.parallel.context = 4;
    spec.train.global_batch = 4;
    spec.parallel.ranks_per_node = 4 / nodes_in_layout;
    const schedule::ModelLayout model{spec, 1};
    const auto program = schedule::build_program(spec, model, schedule::Variant::train);
    Rates rates;
    rates.node_link = {.bandwidth = 1e9, .latency = 0};
    rates.network_link = {.bandwidth = 1e6, .latency = 0};
    rates.ranks_per_node = 2;
    const auto seconds = op_seconds(program, spec, model, rates);
    double sum = 0;
    for (std::size_t i = 0; i < program.ops.size(); ++i) {
        const auto& op = program.ops[i];
        if (op.kind != OpKind::send) {
            continue;
        }
        sum += seconds[i];
        if (nodes_in_layout == 2) {
            const bool is_between = program.groups[op.group].name == "ring between nodes";
            EXPECT_DOUBLE_EQ(seconds[i],
                             static_cast<double>(op.reads.front().bytes()) / (is_between ? 1e6 : 1e9));
        }
    }
    return sum;
}

TEST(MessageCost, IsLowerWithRingsInTwoLevelsThanWithARingThatCrossesNodes) {
    EXPECT_LT(seconds_of_ring(2), 0.7 * seconds_of_ring(4));
}

TEST(LaunchTime, IsAFloorOfAllOpsOfAStep) {
    const auto spec = test::small_spec("gpt2");
    const schedule::ModelLayout model{spec, 0};
    const auto program = schedule::build_program(spec, model, schedule::Variant::train);
    double launches = 0;
    for (const auto& op : program.ops) {
        launches += program.lanes[op.lane].engine == schedule::Engine::compute ? 1 : 0;
    }
    spec::MachineSpec machine;
    machine.has_device = true;
    machine.device_flops = 1e15;
    machine.device_bandwidth = 1e15;
    const auto seconds = [&](double launch_time) {
        machine.launch_time = launch_time;
        return step_seconds(program, spec, model, rates_of(spec, machine));
    };
    EXPECT_NEAR(seconds(1e-3), launches * 1e-3, 0.01 * launches * 1e-3);
    machine.device_flops = 1e6;
    EXPECT_NEAR(seconds(1e-9), seconds(0), 1e-6) << "work that takes longer hides it";
}

}  // namespace
}  // namespace ziggurat::plan
