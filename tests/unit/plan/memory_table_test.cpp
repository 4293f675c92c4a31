#include "plan/memory_table.hpp"

#include <gtest/gtest.h>

#include "layout/cuda_workspaces.hpp"
#include "plan/rank_programs.hpp"
#include "schedule/build_program.hpp"
#include "tests/unit/schedule/small_spec.hpp"

namespace ziggurat::plan {
using schedule::MemoryCategory;

namespace {

using schedule::Lifetime;

std::int64_t device_bytes(const MemoryTable& table, MemoryCategory consumer) {
    for (const auto& row : table.rows) {
        if (row.consumer == consumer) {
            return row.bytes[0];
        }
    }
    return 0;
}

/// Adds a buffer of `bytes` that is used by the ops `first` .. `last`.
void add(schedule::Program& program, MemoryCategory consumer, std::int64_t bytes, int first, int last) {
    schedule::Buffer buffer;
    buffer.consumer = consumer;
    buffer.bytes = bytes;
    buffer.lifetime = first < 0 ? Lifetime::persistent : Lifetime::transient;
    const int b = program.add_buffer(buffer);
    for (int i = std::max(first, 0); i <= last; ++i) {
        program.ops.resize(std::max(program.ops.size(), static_cast<std::size_t>(i) + 1));
        program.ops[static_cast<std::size_t>(i)].reads.push_back(whole(program, b, schedule::Role::input));
    }
}

schedule::Program with_a_peak() {
    schedule::Program program;
    add(program, MemoryCategory::parameters, 1000, -1, -1);
    add(program, MemoryCategory::activations, 300, 0, 3);
    add(program, MemoryCategory::logits, 500, 1, 1);
    add(program, MemoryCategory::workspaces, 400, 2, 2);
    add(program, MemoryCategory::transfers, 150, 2, 3);
    program.ops[2].label = "the peak";
    program.arena_bytes[0] = 1900;
    return program;
}

TEST(MemoryTable, CountsWhatLivesAtTheMomentOfMostUse) {
    const auto table = memory_usage({}, with_a_peak());

    EXPECT_EQ(device_bytes(table, MemoryCategory::parameters), 1000);
    EXPECT_EQ(device_bytes(table, MemoryCategory::activations), 300);
    EXPECT_EQ(device_bytes(table, MemoryCategory::logits), 0);
    EXPECT_EQ(device_bytes(table, MemoryCategory::workspaces), 400);
    EXPECT_EQ(device_bytes(table, MemoryCategory::transfers), 150);
    EXPECT_EQ(table.peak_op[0], "the peak");
    EXPECT_EQ(table.total[0], 1900);
    EXPECT_EQ(table.between[0], 50);
}

TEST(MemoryTable, TellsWhatOtherProgramsReserve) {
    const auto table = memory_usage({}, with_a_peak(), {{2000, 0, 0}});

    EXPECT_EQ(table.total[0], 2000);
    EXPECT_EQ(table.between[0], 50);
    EXPECT_EQ(device_bytes(table, MemoryCategory::validation), 100);
}

TEST(MemoryTable, SharesTheBudgetOfANodeAmongItsRanks) {
    spec::RunSpec spec;
    spec.parallel.ranks_per_node = 4;
    spec.tiers.host_budget_bytes = 4000;
    spec.tiers.nvme_budget_bytes = 8000;

    const auto table = memory_usage(spec, with_a_peak());

    EXPECT_EQ(table.budget, (spec::ByTier<std::int64_t>{0, 1000, 2000}));
}

TEST(MemoryTable, HasALineForWhatLibrariesKeepOfAGpu) {
    spec::RunSpec spec;
    EXPECT_EQ(memory_table(spec, 0, memory_usage(spec, with_a_peak())).find("library memory"),
              std::string::npos);

    spec.tiers.device = spec::DeviceKind::cuda;
    const auto table = memory_usage(spec, with_a_peak());

    EXPECT_EQ(table.libraries, layout::CudaWorkspaces::library_bytes);
    EXPECT_EQ(table.total[0], 1900) << "they lie in no arena";
    const auto text = memory_table(spec, 0, table);
    EXPECT_NE(text.find("library memory   per rank, not in the budget           768.0 MiB"),
              std::string::npos)
        << text;
}

TEST(MemoryTable, HasALineForThePinnedPartOfTheHost) {
    spec::RunSpec spec;
    spec.parallel.ranks_per_node = 2;
    const RankBytes of_all{.tiers = {0, 5000, 0}};
    const auto pinned = [&] { return memory_usage(spec, with_a_peak(), of_all).pinned; };
    spec.tiers.pinned_bytes = spec::unlimited;
    EXPECT_EQ(pinned(), 0) << "the host's cores compute";
    spec.tiers.device = spec::DeviceKind::cuda;
    EXPECT_EQ(pinned(), 5000);
    spec.tiers.pinned_bytes = 6000;
    EXPECT_EQ(pinned(), 3000) << "a rank's share of the node's";
    const auto text = memory_table(spec, 0, memory_usage(spec, with_a_peak(), of_all));
    EXPECT_NE(text.find("pinned           of the total, for copies of GPUs"), std::string::npos) << text;
}

TEST(MemoryTable, CountsTheHostsMemoryThroughWhichRanksOfGpusExchange) {
    auto spec = test::small_spec("gpt2", 2);
    const auto program = build_program(spec, 0, schedule::Variant::train);
    const auto exchanged = program.arena_bytes[3];
    ASSERT_GT(exchanged, 0);
    const auto on_host = [&] { return memory_usage(spec, program).total[1]; };
    const auto without = on_host();

    spec.tiers.device = spec::DeviceKind::cuda;
    spec.parallel.transport = spec::Transport::staged;
    EXPECT_EQ(on_host(), without + exchanged);
    EXPECT_EQ(build_whole(spec, 0).bytes[1], without + exchanged);
    spec.parallel.transport = spec::Transport::nccl;
    EXPECT_EQ(on_host(), without) << "NCCL reaches vectors where they lie";
    EXPECT_EQ(build_whole(spec, 0).bytes[1], without);
}

TEST(MemoryTable, AddsUpToTheArenaOfARealProgram) {
    for (const auto type : {spec::DType::f32, spec::DType::bf16}) {
        auto spec = test::small_spec("gpt2", 2);
        spec.precision.compute = type;
        spec.sharding.optimizer = 2;
        const schedule::ModelLayout model{spec, 1};
        std::int64_t elements = 0;
        for (const auto& flat : model.flats) {
            elements += flat.padded_elements();
        }

        const auto table = memory_usage(spec, build_program(spec, model, schedule::Variant::train));

        const bool is_f32 = type == spec::DType::f32;
        EXPECT_EQ(device_bytes(table, MemoryCategory::parameters), elements * (is_f32 ? 4 : 2));
        EXPECT_EQ(device_bytes(table, MemoryCategory::gradients), elements * 4);
        EXPECT_EQ(device_bytes(table, MemoryCategory::optimizer), elements / 2 * (is_f32 ? 8 : 12));
        std::int64_t sum = table.between[0];
        for (const auto& row : table.rows) {
            sum += row.bytes[0];
        }
        EXPECT_EQ(sum, table.total[0]);
        EXPECT_GE(table.between[0], 0);
    }
}

/// Returns the detail of a line of the first rank's table.
std::string detail(const spec::RunSpec& spec, MemoryCategory consumer) {
    const auto table = memory_usage(spec, build_program(spec, 0, schedule::Variant::train));
    for (const auto& row : table.rows) {
        if (row.consumer == consumer) {
            return row.detail;
        }
    }
    return "no such line";
}

TEST(MemoryTable, ShowsThatSumsAtTheEndKeepWholeGradients) {
    auto spec = test::small_spec("llama", 2);
    spec.sharding.gradients = spec.sharding.optimizer = 2;

    EXPECT_EQ(detail(spec, MemoryCategory::gradients), "f32, unsharded: reduce is at_end");
    spec.sharding.reduce = spec::ReducePlan::each_microbatch;
    EXPECT_EQ(detail(spec, MemoryCategory::gradients), "1/2 of f32; whole until summed");
}

TEST(MemoryTable, SaysHowStateIsCut) {
    auto spec = test::small_spec("llama", 8);
    EXPECT_EQ(detail(spec, MemoryCategory::parameters), "f32, also the master");
    EXPECT_EQ(detail(spec, MemoryCategory::leases), "no such line");
    EXPECT_EQ(detail(spec, MemoryCategory::optimizer), "2 f32 moments");

    spec.precision.compute = spec::DType::bf16;
    spec.sharding = {4, 4, 8, 2, spec::ReducePlan::by_span, 8};
    EXPECT_EQ(detail(spec, MemoryCategory::parameters), "1/4 of bf16; again 1/2");
    EXPECT_EQ(detail(spec, MemoryCategory::leases), "whole units while they are used");
    EXPECT_EQ(detail(spec, MemoryCategory::gradients), "1/4 of f32; whole until summed");
    spec.precision.gradient = spec::DType::bf16;
    EXPECT_EQ(detail(spec, MemoryCategory::gradients), "1/4 of bf16; whole in f32 until summed");
    EXPECT_EQ(detail(spec, MemoryCategory::optimizer), "1/8 of f32 master and 2 moments");
}

TEST(MemoryTable, PrintsALinePerConsumer) {
    spec::RunSpec spec;
    spec.run.name = "tiny";
    spec.tiers.device_budget_bytes = 1800;

    EXPECT_EQ(
        memory_table(spec, 0, memory_usage(spec, with_a_peak())),
        "MEMORY PLAN  tiny, rank 0 of 1, at the moment of most use\n"
        "                                                            device         host         nvme\n"
        "  parameters       f32, also the master                     1000 B            -            -\n"
        "  activations      kept, no recomputation                    300 B            -            -\n"
        "  workspaces                                                 400 B            -            -\n"
        "  transfers                                                  150 B            -            -\n"
        "  between          alignment and holes                        50 B            -            -\n"
        "  ------------------------------------------------------------------------------------------\n"
        "  total            per rank                               1.86 KiB            -            -\n"
        "  budget           per rank                               1.76 KiB            -            -\n");
}

}  // namespace
}  // namespace ziggurat::plan
