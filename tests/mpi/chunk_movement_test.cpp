/// Class A of chunks in pipelines: the bits of the same layout with all state on the device.
#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <vector>

#include "schedule/build_program.hpp"
#include "schedule/verify/link_volumes.hpp"
#include "schedule/volumes/link_traffic.hpp"
#include "tests/support/rank_test.hpp"
#include "tests/support/scratch_folder.hpp"
#include "tests/support/tiny_training.hpp"

namespace ziggurat::train {
namespace {

using schedule::Link;
using spec::Home;
using spec::PipelineSchedule;

constexpr Home host{0, 1, 0};
constexpr Home shares{0.25, 0.35, 0.4};

struct Layout {
    const char* name;
    PipelineSchedule schedule;
    int chunks_per_stage = 1;
};

constexpr Layout layouts[] = {{"gpipe", PipelineSchedule::gpipe},
                              {"1f1b", PipelineSchedule::one_f_one_b},
                              {"interleaved", PipelineSchedule::interleaved, 2},
                              {"zero_bubble", PipelineSchedule::zero_bubble},
                              {"zero_bubble_v", PipelineSchedule::zero_bubble, 2}};

/// Returns a run with stages on all ranks that data (ZeRO 3) and tensor ranks leave.
spec::RunSpec run_of(const std::string& family, const Layout& layout, int data, int tensor) {
    const int ranks = test::world().size();
    const int stages = ranks / (data * tensor);
    auto run = test::tiny_run(family, data, 1, std::int64_t{2} * stages);
    run.model.layers = 2 * stages + 1;  // a stage has more layers than the others
    run.parallel.stages = stages;
    run.parallel.tensor = tensor;
    run.parallel.ranks = run.parallel.ranks_per_node = ranks;
    run.parallel.pipeline_schedule = layout.schedule;
    run.parallel.chunks_per_stage = layout.chunks_per_stage;
    run.sharding.parameters = run.sharding.gradients = run.sharding.optimizer = data;
    run.sharding.reduce = spec::ReducePlan::each_microbatch;
    run.recompute.kind = spec::RecomputeKind::full;
    run.overlap.prefetch = 1;
    run.tiers.chunk_elements = 4096;
    run.tiers.nvme_block_bytes = 8192;
    return run;
}

spec::RunSpec with_chunks(spec::RunSpec run, const Home& home, std::int64_t device_bytes) {
    auto& tiers = run.tiers;
    tiers.parameters = tiers.gradients = tiers.optimizer = home;
    tiers.movement = spec::Movement::chunks;
    tiers.device_budget_bytes = device_bytes;
    return run;
}

schedule::BytesByLink bytes_of(const spec::RunSpec& run) {
    return schedule::bytes_by_link(
        schedule::build_program(run, test::world().rank(), schedule::Variant::train));
}

/// Checks that every link has moved the planned bytes.
///
/// The moments of the first step are not read.
void expect_planned_bytes(const spec::RunSpec& run, const Assembly& assembly) {
    const auto program = schedule::build_program(run, test::world().rank(), schedule::Variant::train);
    const auto planned = schedule::bytes_by_link(program);
    const auto moved = assembly.bytes_by_link();
    for (int link = 0; link < schedule::num_links; ++link) {
        const auto l = static_cast<std::size_t>(link);
        const auto not_read = link == static_cast<int>(Link::nvme_read) ? schedule::moments_read(program) : 0;
        EXPECT_EQ(moved[l], run.train.steps * planned[l] - not_read) << to_string(static_cast<Link>(link));
    }
}

class ChunkMovement : public ::testing::TestWithParam<std::string> {};

TEST_P(ChunkMovement, LeavesTheBitsOfPipelinesAlone) {
    const test::ScratchFolder folder;
    std::vector<std::pair<int, int>> data_and_tensor{{1, 1}};
    if (test::world().size() == 4) {
        data_and_tensor = {{2, 1}, {1, 2}};
    }
    for (const auto& layout : layouts) {
        for (const auto& [data, tensor] : data_and_tensor) {
            const auto run = run_of(GetParam(), layout, data, tensor);
            const auto expected = test::train_on_host(run, test::world());
            for (const auto device_bytes : {std::int64_t{1}, spec::unlimited}) {
                for (const auto& home : {host, shares}) {
                    SCOPED_TRACE(std::string{layout.name} + ", data " + std::to_string(data) + ", budget " +
                                 std::to_string(device_bytes) + ", " + (home == host ? "host" : "shares"));
                    auto chunks = with_chunks(run, home, device_bytes);
                    chunks.tiers.nvme_paths = {folder.path()};
                    const auto ours =
                        test::train_tiny(chunks, test::world(), test::Keep::nothing,
                                         [&](const Assembly& done) { expect_planned_bytes(chunks, done); });
                    EXPECT_EQ(ours.losses, expected.losses);
                    EXPECT_EQ(ours.norms, expected.norms);
                    EXPECT_EQ(ours.weights_hash, expected.weights_hash);
                    EXPECT_EQ(ours.average_hash, expected.average_hash);
                    EXPECT_EQ(ours.evaluated, expected.evaluated);
                }
            }
        }
    }
}

TEST_P(ChunkMovement, FetchesLessInPipelinesIfTheDeviceHasRoom) {
    for (const auto& layout : layouts) {
        SCOPED_TRACE(layout.name);
        const auto chunks = with_chunks(run_of(GetParam(), layout, 1, 1), host, spec::unlimited);
        auto fixed = chunks;
        fixed.tiers.movement = spec::Movement::fixed;
        const auto ours = bytes_of(chunks);
        const auto theirs = bytes_of(fixed);
        const auto to_device = static_cast<std::size_t>(Link::host_to_device);
        EXPECT_LT(2 * ours[to_device], theirs[to_device]);
    }
}

INSTANTIATE_TEST_SUITE_P(Families, ChunkMovement, ::testing::Values("gpt2", "llama"), [](const auto& made) {
    return std::string{made.param == "gpt2" ? "Gpt2" : "Llama"};
});

}  // namespace
}  // namespace ziggurat::train
