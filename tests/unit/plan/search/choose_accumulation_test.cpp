#include "plan/search/choose_accumulation.hpp"

#include <gtest/gtest.h>

#include "plan/plan_run.hpp"
#include "plan/planned_time.hpp"
#include "tests/unit/plan/small_machine.hpp"
#include "tests/unit/schedule/small_spec.hpp"

namespace ziggurat::plan {
namespace {

using enum spec::AccumulationOrder;

/// Returns a run of eight micro-batches whose parameters are on NVMe.
spec::RunSpec on_nvme() {
    auto run = test::small_spec();
    run.model.layers = 6;
    run.train.micro_batches = 8;
    run.train.global_batch = 16;
    run.tiers.parameters = {0, 0, 1};
    run.tiers.chunk_elements = 4096;
    run.recompute.kind = spec::RecomputeKind::full;
    run.tiers.device_budget_bytes = run.tiers.host_budget_bytes = run.tiers.nvme_budget_bytes = 1LL << 40;
    return run;
}

spec::MachineSpec machine_of(double nvme_read_rate) {
    auto machine = test::small_machine();
    machine.nvme_read_rate = machine.nvme_write_rate = nvme_read_rate;
    return machine;
}

double seconds(spec::RunSpec run, spec::AccumulationOrder order, const spec::MachineSpec& machine) {
    run.train.accumulate = order;
    return planned_time(run, machine).step_seconds;
}

TEST(Accumulation, IsByLayerWhereReadsLimitTheStep) {
    const auto run = on_nvme();
    const auto slow = machine_of(1e6);

    EXPECT_EQ(choose_accumulation(run, slow).order, by_layer);
    EXPECT_LT(3 * seconds(run, by_layer, slow), seconds(run, by_micro_batch, slow));
}

TEST(Accumulation, IsByMicroBatchWhereReadsAreHidden) {
    auto run = on_nvme();
    run.tiers.parameters = {1, 0, 0};
    run.tiers.optimizer = {0, 1, 0};

    const auto chosen = choose_accumulation(run, machine_of(1e9));

    EXPECT_EQ(chosen.order, by_micro_batch) << chosen.reason;
}

TEST(Accumulation, IsByMicroBatchWhereTheBudgetsDoNotHoldAllActivations) {
    auto run = on_nvme();
    run.recompute.kind = spec::RecomputeKind::none;
    const auto device_bytes = [&](spec::AccumulationOrder order) {
        auto planned = run;
        planned.train.accumulate = order;
        return bytes_of_rank(planned, 0)[0];
    };
    ASSERT_LT(device_bytes(by_micro_batch), device_bytes(by_layer));
    const auto slow = machine_of(1e6);
    run.tiers.device_budget_bytes = device_bytes(by_layer);
    EXPECT_EQ(choose_accumulation(run, slow).order, by_layer);

    run.tiers.device_budget_bytes = device_bytes(by_micro_batch);
    const auto chosen = choose_accumulation(run, slow);

    EXPECT_EQ(chosen.order, by_micro_batch);
    EXPECT_NE(chosen.reason.find("but exceeds the budgets by layer"), std::string::npos) << chosen.reason;
}

// The time of many micro-batches is that of a line through two smaller numbers of them.
TEST(Accumulation, ByLayerIsPlannedForAnyNumberOfMicroBatches) {
    auto run = on_nvme();
    const auto slow = machine_of(1e6);
    run.train.micro_batches = 16;
    const double of_few = seconds(run, by_layer, slow);
    run.train.micro_batches = 64;
    const double of_many = seconds(run, by_layer, slow);

    EXPECT_GE(of_many, 0.99 * of_few);
    EXPECT_LT(of_many, 4 * of_few) << "reads do not grow";
    EXPECT_GT(seconds(run, by_micro_batch, slow), 10 * of_many);
}

TEST(Accumulation, ByLayerIsPlannedWithTheMemoryOfAllMicroBatches) {
    auto run = on_nvme();
    run.model.layers = 40;
    run.train.accumulate = by_layer;
    run.recompute.kind = spec::RecomputeKind::none;
    for (const std::int64_t microbatches : {3, 40}) {
        run.train.micro_batches = microbatches;
        const auto planned = plan_run(run, machine_of(1e9), PlannedRanks::several).footprint.needed[0];
        const auto whole = bytes_of_rank(run, 0)[0];

        EXPECT_NEAR(static_cast<double>(planned), static_cast<double>(whole),
                    0.03 * static_cast<double>(whole))
            << microbatches;
    }
}

}  // namespace
}  // namespace ziggurat::plan
