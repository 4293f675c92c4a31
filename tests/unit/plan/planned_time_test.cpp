#include "plan/planned_time.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "layout/mesh.hpp"
#include "plan/cost/rates.hpp"
#include "plan/simulator/stage_time.hpp"
#include "tests/unit/schedule/small_spec.hpp"

namespace ziggurat::plan {
namespace {

/// Returns a machine with devices on which every kind of work takes a noticeable time.
spec::MachineSpec machine() {
    spec::MachineSpec machine;
    machine.has_device = true;
    machine.ranks_per_node = 4;
    machine.device_flops = 2e9;
    machine.device_bandwidth = 4e8;
    machine.op_overhead = 2e-6;
    machine.host_bandwidth = 1e9;
    machine.host_to_device_rate = machine.device_to_host_rate = 2e8;
    machine.nvme_read_rate = machine.nvme_write_rate = 4e8;
    machine.node_link = {.bandwidth = 4e8, .latency = 5e-6};
    machine.network_link = {.bandwidth = 1e8, .latency = 1e-5};
    return machine;
}

struct Layout {
    std::string name;
    spec::RunSpec spec;
};

/// A run of `layers` layers and `micro_batches` micro-batches on data x tensor x stages ranks.
spec::RunSpec run_of(const std::string& family,
                     int data,
                     int tensor,
                     int stages,
                     std::int64_t layers,
                     std::int64_t micro_batches) {
    auto spec = test::small_spec(family, data);
    spec.model.layers = layers;
    spec.train.micro_batches = micro_batches;
    spec.train.global_batch = 2 * micro_batches * data;
    spec.parallel.tensor = tensor;
    spec.parallel.sequence = tensor > 1;
    spec.parallel.stages = stages;
    spec.parallel.ranks = data * tensor * stages;
    spec.parallel.ranks_per_node = 4;
    return spec;
}

// The micro-batches in flight differ, so the memory that is free for chunks does, too.
TEST(PlannedTime, OfEachStageIsItsOwnIfChunksMove) {
    auto spec = run_of("llama", 1, 1, 4, 8, 8);
    spec.tiers.parameters = {0, 1, 0};
    spec.tiers.device_budget_bytes = 1;
    EXPECT_EQ(planned_time(spec, machine()).stages.size(), 3U);
    spec.tiers.movement = spec::Movement::chunks;
    const auto planned = planned_time(spec, machine());
    ASSERT_EQ(planned.stages.size(), 4U);
    for (const auto& stage : planned.stages) {
        const layout::Mesh mesh{spec.parallel};
        const int rank = mesh.neighbour(spec::Axis::pipeline, 0, stage.stage);
        EXPECT_EQ(stage.time.lanes, stage_time(spec, rank, rates_of(spec, machine())).lanes) << stage.stage;
    }
}

void shard(spec::RunSpec& spec, int zero) {
    const int data = spec.parallel.data;
    spec.sharding.optimizer = zero >= 1 ? data : 1;
    spec.sharding.gradients = zero >= 2 ? data : 1;
    spec.sharding.parameters = zero >= 3 ? data : 1;
}

std::vector<Layout> layouts() {
    std::vector<Layout> made;
    for (const int zero : {0, 1, 2, 3}) {
        auto spec = run_of(zero % 2 == 0 ? "gpt2" : "llama", 4, 1, 1, 16, 3);
        shard(spec, zero);
        made.push_back({"data 4, zero " + std::to_string(zero), spec});
    }
    for (const int data : {2, 8}) {
        auto spec = run_of("llama", data, 1, 1, 20, 8);
        shard(spec, 3);
        made.push_back({"zero 3 of many micro-batches, data " + std::to_string(data), spec});
    }
    for (const int stages : {2, 4}) {
        for (const std::int64_t micro_batches : {4, 12}) {
            made.push_back(
                {std::to_string(stages) + " stages, micro-batches " + std::to_string(micro_batches),
                 run_of("gpt2", 1, 1, stages, 3 * stages, micro_batches)});
        }
    }
    for (const int chunks : {2, 3}) {
        auto spec = run_of("llama", 1, 1, 4, 4 * chunks, 8);
        spec.parallel.pipeline_schedule = spec::PipelineSchedule::interleaved;
        spec.parallel.chunks_per_stage = chunks;
        made.push_back({"interleaved " + std::to_string(chunks), spec});
    }
    {
        auto spec = run_of("llama", 1, 1, 4, 12, 6);
        spec.parallel.pipeline_schedule = spec::PipelineSchedule::gpipe;
        made.push_back({"gpipe", spec});
    }
    for (const int tensor : {2, 4}) {
        made.push_back({"tensor " + std::to_string(tensor), run_of("llama", 1, tensor, 1, 12, 4)});
        auto spec = run_of("gpt2", 2, tensor, 2, 8, 6);
        shard(spec, 1);
        made.push_back({"data 2, 2 stages, tensor " + std::to_string(tensor), spec});
    }
    for (const auto kind : {spec::RecomputeKind::selective, spec::RecomputeKind::full}) {
        auto spec = run_of("llama", 2, 1, 2, 12, 6);
        spec.recompute.kind = kind;
        shard(spec, 2);
        made.push_back({kind == spec::RecomputeKind::full ? "full recomputation" : "selective", spec});
    }
    {
        auto spec = run_of("llama", 1, 1, 1, 24, 4);
        spec.recompute.kind = spec::RecomputeKind::full;
        spec.recompute.every = 2;
        made.push_back({"groups of recomputation", spec});
    }
    {
        auto spec = run_of("llama", 1, 1, 1, 30, 4);
        spec.tiers.optimizer = {0, 1, 0};
        made.push_back({"optimizer on the host", spec});
        spec.tiers.parameters = {0, 1, 0};
        made.push_back({"parameters on the host", spec});
        spec.tiers.parameters = spec.tiers.optimizer = spec.tiers.gradients = {0, 0, 1};
        made.push_back({"all on NVMe", spec});
        spec.train.micro_batches = 12;
        spec.train.global_batch = 24;
        made.push_back({"all on NVMe, 12 micro-batches", spec});
    }
    return made;
}

TEST(PlannedTime, AgreesWithASimulationOfAllRanks) {
    const auto all = layouts();
    EXPECT_GE(all.size(), 24U);
    for (const auto& [name, spec] : all) {
        const double planned = planned_time(spec, machine()).step_seconds;
        const double simulated = simulated_step_seconds(spec, machine());
        EXPECT_NEAR(planned, simulated, 0.02 * simulated) << name << ": " << planned / simulated;
    }
}

TEST(PlannedTime, CountsEveryMicroBatchIfLinksBoundTheStep) {
    auto slow = machine();
    slow.node_link.bandwidth /= 20;
    slow.network_link.bandwidth /= 20;
    for (const int zero : {2, 3}) {
        auto spec = run_of("llama", 4, 1, 1, 20, 9);
        shard(spec, zero);
        spec.sharding.reduce = spec::ReducePlan::each_microbatch;
        const auto planned = planned_time(spec, slow);
        const double simulated = simulated_step_seconds(spec, slow);
        EXPECT_NEAR(planned.step_seconds, simulated, 0.02 * simulated) << zero;
        for (const auto& [lane, seconds] : planned.bound().time.lanes) {
            EXPECT_LE(seconds, 1.02 * planned.step_seconds) << lane << " works for longer than the step";
        }
    }
}

TEST(PlannedTime, OfAStepThatRepeatsItsUpdatesIsLonger) {
    auto [name, spec] = Layout{"speculation", run_of("gpt2", 1, 1, 1, 4, 2)};
    spec.tiers.nvme_paths = {"/nvme"};
    spec.tiers.optimizer = spec.tiers.gradients = {0, 0, 1};
    spec.optimizer.clip = spec::ClipPolicy::off;
    spec.overlap.optimizer_with_backward = true;
    const double unclipped = planned_time(spec, machine()).step_seconds;
    EXPECT_EQ(redone_step_seconds(spec, machine()), 0) << "no update is speculative";

    spec.optimizer.clip = spec::ClipPolicy::global;
    const double usual = planned_time(spec, machine()).step_seconds;
    EXPECT_LT(usual, 1.3 * unclipped) << "the second slot takes no time, except for writes of gradients";
    EXPECT_GT(redone_step_seconds(spec, machine()), 1.1 * usual);
}

}  // namespace
}  // namespace ziggurat::plan
