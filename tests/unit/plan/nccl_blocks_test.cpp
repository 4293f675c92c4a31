#include "plan/gpu/nccl_room.hpp"

#include <gtest/gtest.h>

#include "plan/report/memory_report.hpp"
#include "schedule/build_program.hpp"
#include "tests/unit/schedule/small_spec.hpp"

namespace ziggurat::plan {
namespace {

using Communicators = std::vector<CommunicatorBlocks>;

spec::RunSpec on_gpus(int ranks) {
    auto spec = test::small_spec("llama", ranks);
    spec.tiers.device = spec::DeviceKind::cuda;
    spec.parallel.transport = spec::Transport::nccl;
    return spec;
}

/// Returns two stages of `ranks` data ranks.
spec::RunSpec in_stages(int ranks) {
    auto spec = on_gpus(ranks);
    spec.model.layers = 2;
    spec.parallel.stages = 2;
    spec.parallel.stage_layers = {1, 1};
    spec.parallel.ranks = spec.parallel.ranks_per_node = 2 * ranks;
    return spec;
}

Communicators of(const spec::RunSpec& spec) {
    return communicator_blocks(spec, build_program(spec, 0, schedule::Variant::train));
}

TEST(NcclBlocks, AreThoseOfEachGroupAndOfEachDirectionOfMessages) {
    EXPECT_EQ(of(on_gpus(1)), Communicators{});
    EXPECT_EQ(blocks_of_all(of(on_gpus(2))), 16) << "sums of gradients";
    const auto stages = of(in_stages(2));
    EXPECT_EQ(stages.size(), 3u) << "the same, values to the next stage, and gradients from it";
    EXPECT_EQ(blocks_of_all(stages), 16 + 8 + 8);

    auto spec = on_gpus(2);
    spec.parallel.transport = spec::Transport::staged;
    EXPECT_EQ(of(spec), Communicators{});
}

TEST(NcclBlocks, OfTheRankWithMostAreInTheReport) {
    const auto report = memory_report(in_stages(2));
    EXPECT_EQ(blocks_of_all(report.communicators), 32);
}

TEST(NcclBlocks, ThatAGpuHasNoRoomForAreAProblemWithItsRemedies) {
    spec::MachineSpec machine;
    machine.name = "small";
    machine.device_multiprocessors = 31;
    const auto communicators = of(in_stages(2));

    const auto problem = thread_blocks_problem(communicators, machine);

    EXPECT_NE(problem.find("may hold 32 thread blocks at once ("), std::string::npos) << problem;
    EXPECT_NE(problem.find("a GPU of small has 31 multiprocessors"), std::string::npos) << problem;
    EXPECT_NE(problem.find("NCCL_MAX_CTAS=10"), std::string::npos) << problem << ": a third of 31";
    machine.device_multiprocessors = 32;
    EXPECT_EQ(thread_blocks_problem(communicators, machine), "");
    machine.device_multiprocessors = 2;
    EXPECT_EQ(thread_blocks_problem(communicators, machine).find("NCCL_MAX_CTAS"), std::string::npos)
        << "no limit helps";
}

TEST(NcclBlocks, AreHeldAgainstAnH100WhereTheMachineDoesNotSay) {
    const Communicators communicators(9, {"span", 16});
    EXPECT_NE(thread_blocks_problem(communicators, {}).find("144 thread blocks"), std::string::npos);
    EXPECT_NE(thread_blocks_problem(communicators, {}).find("132 multiprocessors (assumed: H100"),
              std::string::npos);
    EXPECT_EQ(thread_blocks_problem(Communicators(8, {"span", 16}), {}), "");
}

}  // namespace
}  // namespace ziggurat::plan
