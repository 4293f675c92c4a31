#include "plan/search/fastest_homes.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <utility>

#include "plan/plan_run.hpp"
#include "plan/planned_time.hpp"
#include "plan/search/choose_homes.hpp"
#include "schedule/build_program.hpp"
#include "schedule/volumes/link_traffic.hpp"
#include "tests/unit/plan/two_nodes.hpp"

namespace ziggurat::plan {
namespace {

/// A run on one rank that fits with recomputation, and without it only with the optimizer on the host.
spec::RunSpec run_short_of_memory() {
    auto spec = test::small_spec("llama", 1);
    spec.model.layers = 8;
    spec.train.micro_batch = 4;
    spec.train.micro_batches = 1;
    spec.train.global_batch = 4;
    spec.tiers.open.optimizer = true;
    spec.recompute.is_auto = true;
    auto full = spec;
    full.tiers.open = {};
    full.recompute = {.kind = spec::RecomputeKind::full};
    spec.tiers.device_budget_bytes = plan_run(full).footprint.needed[0] + 4096;
    return spec;
}

spec::MachineSpec machine_with(double link_bytes_per_s) {
    auto machine = test::machine_of_two_ranks();
    machine.host_to_device_rate = machine.device_to_host_rate = link_bytes_per_s;
    machine.host_bandwidth = link_bytes_per_s;
    return machine;
}

TEST(FastestHomes, RecomputeIfTheHostIsSlow) {
    const auto spec = run_short_of_memory();
    const auto machine = machine_with(1e6);
    const auto by_room = choose_homes(spec, machine);
    const auto chosen = choose_fastest_homes(spec, machine);
    EXPECT_LT(by_room.tiers.optimizer.device, 1) << "by room alone, state leaves before work is done twice";
    EXPECT_EQ(chosen.recompute.kind, spec::RecomputeKind::full);
    EXPECT_EQ(chosen.tiers.optimizer, spec::Home{});
    EXPECT_LT(planned_time(chosen, machine).step_seconds, planned_time(by_room, machine).step_seconds);
    EXPECT_TRUE(plan_run(chosen, machine).footprint.fits());
}

TEST(FastestHomes, MoveStateIfTheHostIsFast) {
    const auto spec = run_short_of_memory();
    const auto chosen = choose_fastest_homes(spec, machine_with(1e13));
    EXPECT_LT(chosen.tiers.optimizer.device, 1);
    EXPECT_NE(chosen.recompute.kind, spec::RecomputeKind::full);
}

TEST(FastestHomes, AreThoseByRoomIfRatesAreUnknown) {
    const auto spec = run_short_of_memory();
    auto machine = machine_with(1e6);
    machine.device_flops = 0;
    EXPECT_EQ(choose_fastest_homes(spec, machine), choose_homes(spec, machine));
}

/// A run with chunks whose budget holds a share of its state.
spec::RunSpec run_with_chunks(int stages, double share) {
    auto spec = test::small_spec("llama", 1);
    spec.model.layers = 8;
    spec.model.hidden = 128;
    spec.model.heads = spec.model.kv_heads = 4;
    spec.model.head_dim = 32;
    spec.model.ffn_hidden = 384;
    spec.data.seq = 128;  // so that activations leave memory free between their peaks
    spec.model.max_seq = 128;
    spec.train.micro_batch = 2;
    spec.train.micro_batches = 4;
    spec.train.global_batch = 8;
    spec.precision.compute = spec::DType::bf16;
    spec.overlap.prefetch = 1;
    spec.parallel.stages = spec.parallel.ranks = spec.parallel.ranks_per_node = stages;
    spec.recompute.kind = spec::RecomputeKind::full;
    spec.tiers.chunk_elements = 32768;
    spec.tiers.parameters = spec.tiers.gradients = spec.tiers.optimizer = {0, 1, 0};
    spec.sharding.reduce = spec::ReducePlan::each_microbatch;
    const auto away = plan_run(spec).footprint.needed[0];
    spec.tiers.parameters = spec.tiers.gradients = spec.tiers.optimizer = {};
    const auto whole = plan_run(spec).footprint.needed[0];
    spec.tiers.device_budget_bytes =
        away + static_cast<std::int64_t>(share * static_cast<double>(whole - away));
    spec.tiers.movement = spec::Movement::chunks;
    spec.tiers.open = {true, true, true, false, true};
    return spec;
}

std::int64_t moved_bytes(const spec::RunSpec& spec) {
    std::int64_t most = 0;
    for (int rank = 0; rank < spec.parallel.ranks; ++rank) {
        const auto program = schedule::build_program(spec, rank, schedule::Variant::train);
        const auto by_link = schedule::bytes_by_link(program);
        most = std::max(most, std::accumulate(by_link.begin(), by_link.end(), std::int64_t{0}));
    }
    return most;
}

TEST(FastestHomes, MoveNoMoreByChunksThanAnySplitIfRatesAreUnknown) {
    int fewer = 0;
    for (const auto& [stages, share] : {std::pair{1, 0.3}, {2, 0.3}}) {
        SCOPED_TRACE(::testing::Message() << stages << " stages, share " << share);
        const auto spec = run_with_chunks(stages, share);
        const auto chosen = choose_fastest_homes(spec, {});
        EXPECT_TRUE(plan_run(chosen).footprint.fits());
        const auto ours = moved_bytes(chosen);
        const auto by_room = moved_bytes(choose_homes(spec, {}));
        EXPECT_LE(ours, by_room);
        fewer += ours < by_room ? 1 : 0;
        for (auto home : {&spec::Tiers::parameters, &spec::Tiers::gradients, &spec::Tiers::optimizer}) {
            auto split = spec;
            split.tiers.movement = spec::Movement::fixed;
            split.tiers.*home = {};
            split.tiers.open.parameters = home != &spec::Tiers::parameters;
            split.tiers.open.gradients = home != &spec::Tiers::gradients;
            split.tiers.open.optimizer = home != &spec::Tiers::optimizer;
            split = choose_homes(split, {});
            if (plan_run(split).footprint.fits()) {
                EXPECT_LE(ours, moved_bytes(split));
            }
        }
    }
    EXPECT_GT(fewer, 0) << "no choice differs from that by room alone";
}

TEST(FastestHomes, TakeNoLongerByChunksThanAnySplit) {
    const auto spec = run_with_chunks(1, 0.3);
    const auto machine = machine_with(1e8);
    const auto chosen = choose_fastest_homes(spec, machine);
    auto split = spec;
    split.tiers.movement = spec::Movement::fixed;
    const auto static_one = choose_fastest_homes(split, machine);
    EXPECT_LE(planned_time(chosen, machine).step_seconds, planned_time(static_one, machine).step_seconds);
}

TEST(FastestHomes, AreNotComparedIfEverythingIsOnTheDevice) {
    auto spec = run_short_of_memory();
    spec.tiers.device_budget_bytes = spec::unlimited;
    const auto chosen = choose_fastest_homes(spec, machine_with(1e6));
    EXPECT_EQ(chosen.recompute.kind, spec::RecomputeKind::none);
    EXPECT_EQ(chosen.tiers.optimizer, spec::Home{});
}

/// Ranks of a grid need more memory than the first one.
TEST(FastestHomes, FitOnEveryRankOfAGrid) {
    auto spec = test::small_spec("gpt2", 4);
    spec.model.layers = 4;
    spec.parallel.tensor = spec.parallel.tensor_rows = 2;
    spec.parallel.data = 1;
    spec.train.micro_batch = 4;
    spec.train.micro_batches = 1;
    spec.train.global_batch = 8;
    spec.tiers.open.optimizer = spec.tiers.open.activations = true;
    spec.recompute.is_auto = true;
    const auto with_all = plan_run(spec).footprint.needed[0];
    const auto machine = machine_with(1e13);
    spec.tiers.device_budget_bytes = with_all * 9 / 10;
    const auto of_larger = choose_fastest_homes(spec, machine);
    const auto needed = plan_run(of_larger, machine).footprint.needed[0];
    ASSERT_LT(plan_run(of_larger, machine, PlannedRanks::first).footprint.needed[0], needed);
    spec.tiers.device_budget_bytes = needed - 1;  // the first rank would fit
    ASSERT_TRUE(plan_run(choose_homes(spec, machine), machine).footprint.fits());

    EXPECT_TRUE(plan_run(choose_fastest_homes(spec, machine), machine).footprint.fits());
}

}  // namespace
}  // namespace ziggurat::plan
