#include "plan/footprint.hpp"
#include "plan/plan_run.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "plan/report/memory_report.hpp"
#include "schedule/build_program.hpp"
#include "tests/unit/schedule/small_spec.hpp"

namespace ziggurat::plan {
namespace {

using spec::Home;
using spec::Tier;

constexpr std::array tiers{Tier::device, Tier::host, Tier::nvme};

std::int64_t needed(const Footprint& footprint, Tier tier) {
    return footprint.needed[static_cast<std::size_t>(tier)];
}

/// Returns a run with each kind of state in every tier.
spec::RunSpec tiered(int ranks) {
    auto spec = test::small_spec("llama", ranks);
    spec.model.layers = 6;
    spec.precision.compute = spec::DType::bf16;
    spec.sharding = {ranks, ranks, ranks, 0, spec::ReducePlan::each_microbatch, ranks};
    spec.recompute.kind = spec::RecomputeKind::full;
    spec.parallel.ranks_per_node = ranks;
    spec.tiers.chunk_elements = 2048;
    spec.tiers.parameters = Home{0.5, 0.5, 0};
    spec.tiers.gradients = Home{0, 1, 0};
    spec.tiers.optimizer = Home{0.2, 0.3, 0.5};
    spec.tiers.activations = Home{0, 1, 0};
    return spec;
}

void set_budget(spec::Tiers& of, Tier tier, std::int64_t bytes) {
    (tier == Tier::device ? of.device_budget_bytes
     : tier == Tier::host ? of.host_budget_bytes
                          : of.nvme_budget_bytes) = bytes;
}

TEST(Footprint, KnowsHowManyThreadsARankCanHave) {
    auto spec = tiered(2);
    spec.parallel.threads = spec::max_threads;
    EXPECT_TRUE(memory_report(spec, {}).fits);
    spec.parallel.threads = spec::max_threads + 1;

    const auto report = memory_report(spec, {});

    EXPECT_FALSE(report.fits);
    EXPECT_NE(report.table.find("DOES NOT FIT: a rank has at most 512 threads, and parallel.threads is 513"),
              std::string::npos)
        << report.table;
    EXPECT_TRUE(report.found.remedies.empty());
}

TEST(Footprint, IsWhatTheArenasOfBothProgramsHold) {
    const auto spec = tiered(2);
    const auto train = schedule::build_program(spec, 1, schedule::Variant::train);
    const auto evaluate = schedule::build_program(spec, 1, schedule::Variant::evaluate);

    const auto footprint = plan_run(spec).footprint;

    for (const auto tier : tiers) {
        const auto t = static_cast<std::size_t>(tier);
        std::int64_t bytes = std::max(train.arena_bytes[t], evaluate.arena_bytes[t]);
        bytes += tier == Tier::nvme ? 0 : std::max(train.arena_bytes[t + 3], evaluate.arena_bytes[t + 3]);
        EXPECT_EQ(needed(footprint, tier), tier == Tier::device ? bytes : 2 * bytes);
        EXPECT_GT(bytes, 0);
    }
}

TEST(Footprint, OfARunThatTrainsNothingIsItsForwardPass) {
    auto spec = tiered(2);
    spec.train.only = {""};  // matches no tensor
    const auto evaluate = schedule::build_program(spec, 0, schedule::Variant::evaluate);

    spec.tiers.device_budget_bytes = evaluate.tier_bytes(Tier::device);
    EXPECT_TRUE(memory_report(spec).fits);
    --spec.tiers.device_budget_bytes;
    const auto report = memory_report(spec);

    EXPECT_EQ(report.footprint.shortfall(Tier::device), 1);
    EXPECT_TRUE(report.found.remedies.empty());
    EXPECT_NE(report.table.find("more ranks"), std::string::npos) << report.table;
}

TEST(Footprint, FitsItsPlanAndNotAByteLess) {
    auto spec = tiered(2);
    const auto plan = plan_run(spec).footprint;
    for (const auto tier : tiers) {
        set_budget(spec.tiers, tier, needed(plan, tier));
    }
    EXPECT_TRUE(plan_run(spec).footprint.fits());
    for (const auto tier : tiers) {
        auto tight = spec;
        set_budget(tight.tiers, tier, needed(plan, tier) - 1);
        const auto footprint = plan_run(tight).footprint;
        EXPECT_EQ(footprint.shortfall(tier), 1);
        EXPECT_EQ(footprint.total_lack(), 1);
        EXPECT_FALSE(footprint.fits());
    }
}

TEST(Footprint, TakesNothingForABudgetOfNothing) {
    auto spec = tiered(2);
    const auto plan = plan_run(spec).footprint;
    EXPECT_TRUE(plan.fits()) << "no budgets";
    for (const auto tier : tiers) {
        auto none = spec;
        set_budget(none.tiers, tier, 0);
        EXPECT_EQ(plan_run(none).footprint.shortfall(tier), needed(plan, tier));
    }
}

TEST(Footprint, LeavesOfAGpuWhatItsLibrariesKeep) {
    auto spec = tiered(2);
    spec.tiers.device = spec::DeviceKind::cuda;
    spec::MachineSpec machine;
    machine.has_device = true;
    machine.device_bytes = std::int64_t{10} << 30;
    const std::vector<RankBytes> by_rank{{.libraries = 3 << 20}, {.libraries = 5 << 20}};
    const std::vector<int> node_of(2);

    EXPECT_EQ(footprint_of(spec, machine, by_rank, node_of).available[0], machine.device_bytes - (5 << 20));
    machine.device_bytes = 1 << 20;
    EXPECT_EQ(footprint_of(spec, machine, by_rank, node_of).available[0], 0);
}

TEST(Footprint, LeavesOfAHostWhatProcessesNeedMoreThanIsReserved) {
    const auto spec = tiered(2);
    spec::MachineSpec machine;
    machine.host_bytes = 100 << 20;
    const std::vector<RankBytes> by_rank{{.process = 3 << 20}, {.process = 5 << 20}, {.process = 6 << 20}};
    const std::vector<int> node_of{0, 0, 1};

    auto footprint = footprint_of(spec, machine, by_rank, node_of);
    EXPECT_EQ(footprint.processes, 8 << 20) << "the fullest node";
    EXPECT_EQ(footprint.available[Tier::host], 92 << 20);
    EXPECT_EQ(footprint.memory, 92 << 20);

    machine.process_bytes = 7 << 20;
    EXPECT_EQ(footprint_of(spec, machine, by_rank, node_of).available[Tier::host], 99 << 20);
    machine.process_bytes = 9 << 20;
    EXPECT_EQ(footprint_of(spec, machine, by_rank, node_of).available[Tier::host], 100 << 20);
}

TEST(Footprint, IsHeldAgainstWhatTheMachineHasOfEachTier) {
    auto spec = tiered(2);
    const auto plan = plan_run(spec).footprint;
    for (const auto tier : tiers) {
        set_budget(spec.tiers, tier, 2 * needed(plan, tier));
    }
    const spec::MachineSpec enough{.has_device = true,
                                   .device_bytes = needed(plan, Tier::device),
                                   .host_bytes = needed(plan, Tier::host) + plan.processes,
                                   .nvme_bytes = needed(plan, Tier::nvme)};
    EXPECT_TRUE(plan_run(spec, enough).footprint.fits());
    for (const auto bytes :
         {&spec::MachineSpec::device_bytes, &spec::MachineSpec::host_bytes, &spec::MachineSpec::nvme_bytes}) {
        auto small = enough;
        --(small.*bytes);
        EXPECT_EQ(plan_run(spec, small).footprint.total_lack(), 1);
    }
    auto small = enough;
    --small.device_bytes;
    const auto text = memory_report(spec, small).table;
    EXPECT_NE(text.find("device is short by 1 B (1 bytes) per rank"), std::string::npos) << text;
    EXPECT_NE(text.find(", available "), std::string::npos) << text;
}

/// Ranks whose shards have other boundaries need other staging memory.
TEST(Footprint, IsThatOfTheFullestRankAndOfTheFullestNode) {
    auto spec = tiered(6);
    spec.model.hidden = 96;
    spec.model.head_dim = 24;
    spec.model.ffn_hidden = 160;
    spec.tiers.tiles = {{.match = "*", .in = 1, .out = 3}};
    spec.tiers.gradients = Home{0, 0, 1};
    spec.parallel.ranks_per_node = 3;
    TierBytes max{};
    std::array<TierBytes, 2> nodes{};
    for (int rank = 0; rank < 6; ++rank) {
        const auto bytes = bytes_of_rank(spec, rank);
        for (std::size_t t = 0; t < 3; ++t) {
            max[t] = std::max(max[t], bytes[t]);
            nodes[static_cast<std::size_t>(rank) / 3][t] += bytes[t];
        }
    }
    const auto first = bytes_of_rank(spec, 0);
    ASSERT_GT(max[0], first[0]);
    ASSERT_NE(std::max(nodes[0][1], nodes[1][1]), 3 * first[1]);

    const auto footprint = plan_run(spec).footprint;

    EXPECT_EQ(needed(footprint, Tier::device), max[0]);
    EXPECT_EQ(needed(footprint, Tier::host), std::max(nodes[0][1], nodes[1][1]));
    EXPECT_EQ(needed(footprint, Tier::nvme), std::max(nodes[0][2], nodes[1][2]));
    EXPECT_EQ(footprint.memory_needed, std::max(nodes[0][0] + nodes[0][1], nodes[1][0] + nodes[1][1]));
}

/// The placement of the whole program counts if little memory is left.
TEST(Footprint, OfALongStepIsThatOfItsWholeProgramWhereThatDecides) {
    auto spec = tiered(1);
    spec.train.micro_batches = 80;  // 8 passes each
    spec.tiers.optimizer = Home{0, 0, 1};
    const auto whole = bytes_of_rank(spec, 0);
    for (const auto tier : tiers) {
        set_budget(spec.tiers, tier, whole[static_cast<std::size_t>(tier)]);
    }
    const auto footprint = plan_run(spec).footprint;

    EXPECT_TRUE(footprint.fits());
    EXPECT_EQ(footprint.needed, whole);
}

TEST(Footprint, AddsUpTheStagesOfANode) {
    auto spec = test::small_spec("gpt2");
    spec.model.layers = 5;
    spec.parallel.stages = spec.parallel.ranks = 4;
    spec.parallel.ranks_per_node = 2;
    spec.train.micro_batches = 4;
    spec.tiers.optimizer = Home{0, 1, 0};
    std::int64_t bytes[4];
    for (int rank = 0; rank < 4; ++rank) {
        bytes[rank] = schedule::build_program(spec, rank, schedule::Variant::train).tier_bytes(Tier::host);
    }
    ASSERT_NE(bytes[0] + bytes[1], bytes[2] + bytes[3]);

    EXPECT_EQ(needed(plan_run(spec).footprint, Tier::host),
              std::max(bytes[0] + bytes[1], bytes[2] + bytes[3]));
}

TEST(Footprint, IsHeldAgainstTheMemoryThatThereIs) {
    auto spec = tiered(2);
    const auto plan = plan_run(spec).footprint;
    const auto all = 2 * needed(plan, Tier::device) + needed(plan, Tier::host) + plan.processes;
    for (const auto tier : tiers) {
        set_budget(spec.tiers, tier, 1000 * needed(plan, tier));
    }
    EXPECT_TRUE(plan_run(spec, {.host_bytes = all}).footprint.fits());

    const auto short_of_one = plan_run(spec, {.host_bytes = all - 1}).footprint;
    EXPECT_EQ(short_of_one.memory_lack(), 1);
    EXPECT_FALSE(short_of_one.fits());
    const auto host = needed(plan, Tier::host) + plan.processes;
    EXPECT_TRUE(plan_run(spec, {.has_device = true, .host_bytes = host}).footprint.fits());
    const auto report = memory_report(spec, {.host_bytes = all - 1});
    EXPECT_NE(report.table.find("DOES NOT FIT: a node's memory is short by 1 B (1 bytes)"), std::string::npos)
        << report.table;
}

TEST(MemoryReport, TellsTierPlanBudgetConsumersAndLack) {
    auto spec = tiered(2);
    const auto plan = plan_run(spec).footprint;
    set_budget(spec.tiers, Tier::device, needed(plan, Tier::device));
    set_budget(spec.tiers, Tier::host, needed(plan, Tier::host) - 65536);
    set_budget(spec.tiers, Tier::nvme, 2 * needed(plan, Tier::nvme));

    const auto report = memory_report(spec);

    EXPECT_FALSE(report.fits);
    EXPECT_NE(report.table.find("  DOES NOT FIT: host is short by 64.00 KiB (65,536 bytes) per node: plan "),
              std::string::npos)
        << report.table;
    EXPECT_NE(report.table.find("    largest on a rank: gradients "), std::string::npos) << report.table;
    ASSERT_FALSE(report.found.remedies.empty()) << report.table;
    EXPECT_EQ(report.found.remedies.front().overrides, "tiers.home.optimizer=nvme 'tiers.nvme.paths=[DISK]'")
        << report.table;
    EXPECT_TRUE(std::ranges::all_of(report.found.remedies, &Remedy::fits)) << report.table;
}

TEST(MemoryReport, TellsWhatWholeChunksMakeOfShares) {
    auto spec = tiered(1);
    spec.tiers.chunk_elements = 1 << 20;  // one chunk holds everything
    spec.tiers.optimizer = Home{0, 0.9, 0.1};
    const auto reported = [](const spec::RunSpec& run, const char* kind) {
        const auto text = memory_report(run).table;
        return text.find(std::string{"tiers.home."} + kind + " is divided ") != std::string::npos;
    };
    EXPECT_TRUE(reported(spec, "optimizer")) << memory_report(spec).table;
    EXPECT_FALSE(reported(spec, "gradients"));
    spec.tiers.chunk_elements = 2048;
    EXPECT_FALSE(reported(spec, "optimizer")) << memory_report(spec).table;
}

TEST(MemoryReport, NamesHomesFurtherOut) {
    auto spec = tiered(1);
    spec.tiers.parameters = spec.tiers.gradients = spec.tiers.optimizer = spec.tiers.activations = Home{};
    spec.train.micro_batch = 1;
    set_budget(spec.tiers, Tier::host, std::int64_t{1} << 40);
    auto on_host = spec;
    on_host.tiers.optimizer = Home{0, 1, 0};
    set_budget(spec.tiers, Tier::device, needed(plan_run(on_host).footprint, Tier::device));

    const auto report = memory_report(spec);

    ASSERT_FALSE(report.found.remedies.empty()) << report.table;
    EXPECT_EQ(report.found.remedies.front().overrides, "tiers.home.optimizer=host");
    EXPECT_NE(report.table.find("fits with tiers.home.optimizer=host: leaves device 0 B per rank, host "),
              std::string::npos)
        << report.table;
}

TEST(MemoryReport, NamesMoreRanks) {
    auto spec = test::small_spec("llama", 2);
    spec.model.hidden = 256;
    spec.model.ffn_hidden = 512;
    spec.model.layers = 12;
    spec.recompute.kind = spec::RecomputeKind::full;
    spec.train.micro_batch = 1;
    spec.train.micro_batches = 8;
    spec.sharding = {2, 2, 2, 0, spec::ReducePlan::each_microbatch, 2};
    const auto plan = plan_run(spec).footprint;
    set_budget(spec.tiers, Tier::device, needed(plan, Tier::device) * 3 / 4);
    set_budget(spec.tiers, Tier::host, needed(plan, Tier::host));
    set_budget(spec.tiers, Tier::nvme, 0);

    const auto report = memory_report(spec);

    ASSERT_FALSE(report.found.remedies.empty()) << report.table;
    EXPECT_EQ(report.found.remedies.front().overrides, "on 4 ranks");
}

}  // namespace
}  // namespace ziggurat::plan
