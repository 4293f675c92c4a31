#include "plan/library_memory.hpp"

#include <gtest/gtest.h>

#include <array>

#include "layout/cuda_workspaces.hpp"
#include "layout/nccl_sums.hpp"
#include "plan/plan_run.hpp"
#include "schedule/build_program.hpp"
#include "tests/unit/schedule/small_spec.hpp"

namespace ziggurat::plan {
namespace {

using layout::nccl_scratch_bytes;
using schedule::Variant;

constexpr std::int64_t mib = std::int64_t{1} << 20;
constexpr std::int64_t group = 576 * mib;

/// Returns `ranks` data ranks, each with its own GPU.
spec::RunSpec on_gpus(int ranks, const std::string& family = "llama") {
    auto spec = test::small_spec(family, ranks);
    spec.tiers.device = spec::DeviceKind::cuda;
    spec.parallel.transport = spec::Transport::nccl;
    return spec;
}

spec::RunSpec with_stages(spec::RunSpec spec) {
    spec.model.layers = 2;
    spec.parallel.stages = 2;
    spec.parallel.stage_layers = {1, 1};
    spec.parallel.ranks = spec.parallel.ranks_per_node = 2 * spec.parallel.data;
    return spec;
}

LibraryMemory of(const spec::RunSpec& spec, int rank = 0) {
    const auto train = build_program(spec, rank, Variant::train);
    const auto evaluate = build_program(spec, rank, Variant::evaluate);
    return library_memory(spec, std::array{&train, &evaluate});
}

TEST(LibraryMemory, IsThatOfKernelsWhereNothingGoesByNccl) {
    EXPECT_EQ(of(test::small_spec("llama", 2)).total(), 0) << "the host's cores";
    auto spec = on_gpus(2);
    spec.parallel.transport = spec::Transport::staged;
    EXPECT_EQ(of(spec).total(), layout::CudaWorkspaces::library_bytes);
    EXPECT_EQ(of(on_gpus(1)).total(), layout::CudaWorkspaces::library_bytes) << "one rank talks to nobody";
}

TEST(LibraryMemory, HasACommunicatorForEachGroup) {
    auto spec = on_gpus(2);
    EXPECT_EQ(of(spec).communicators, group) << "sums of gradients; validation exchanges nothing";
    EXPECT_EQ(of(spec).exchange, 0);

    spec.sharding.parameters = spec.sharding.gradients = spec.sharding.optimizer = 2;
    spec.sharding.reduce = spec::ReducePlan::by_span;
    EXPECT_EQ(of(spec).communicators, group) << "validation gathers parameters with the same communicator";
}

TEST(LibraryMemory, HasScratchWhereSumsAreMadeOfPieces) {
    auto spec = on_gpus(3);
    spec.precision.compute = spec.precision.gradient = spec::DType::bf16;
    spec.sharding.optimizer = 3;
    EXPECT_EQ(of(spec).exchange, nccl_scratch_bytes);
    EXPECT_EQ(of(spec).communicators, group);
    spec.precision.gradient = spec::DType::f32;
    EXPECT_EQ(of(spec).exchange, 0) << "the library sums equal blocks of float";
}

TEST(LibraryMemory, HasACommunicatorForEachWayOfMessages) {
    const auto spec = with_stages(on_gpus(1));
    // The first stage sends activations and receives gradients, the second does the reverse. Validation
    // sends activations with the same communicators.
    EXPECT_EQ(of(spec, 0).communicators, (64 + 320) * mib);
    EXPECT_EQ(of(spec, 1).communicators, (320 + 64) * mib);
}

/// Gradients of the shared embedding are summed on the devices, with their homes in any tier.
TEST(LibraryMemory, HasACommunicatorOfStagesThatShareATensor) {
    auto spec = with_stages(on_gpus(1, "gpt2"));
    spec.sharding.reduce = spec::ReducePlan::each_microbatch;
    EXPECT_EQ(of(spec, 0).communicators, (64 + 320) * mib + group);
    spec.tiers.gradients = {.device = 0, .host = 1, .nvme = 0};
    EXPECT_EQ(of(spec, 0).communicators, (64 + 320) * mib + group);
    EXPECT_EQ(of(spec, 0).exchange, 0);
}

TEST(LibraryMemory, IsLeftOutOfWhatAGpuHasForArenas) {
    const auto spec = on_gpus(2);
    spec::MachineSpec machine;
    machine.has_device = true;
    machine.device_bytes = std::int64_t{80} << 30;

    const auto plan = plan_run(spec, machine);

    EXPECT_EQ(plan.fullest().libraries, of(spec).total());
    EXPECT_EQ(plan.footprint.available[0], machine.device_bytes - of(spec).total());
    EXPECT_EQ(needs_of_rank(spec, 1).libraries, of(spec, 1).total());
}

}  // namespace
}  // namespace ziggurat::plan
