/// Trainings whose GPUs communicate by NCCL, against those through the host: class B, and the same
/// bytes.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <span>
#include <string>

#include "comm/control.hpp"
#include "plan/library_memory.hpp"
#include "tests/emulated_cuda/memory.hpp"
#include "tests/support/class_b.hpp"
#include "tests/support/rank_test.hpp"
#include "tests/support/tiny_training.hpp"

namespace ziggurat::train {
namespace {

using test::Keep;

int ranks() {
    return test::world().size();
}

/// Returns a run with six heads and a width that two tensor ranks divide.
spec::RunSpec run_of(const std::string& family, int tensor, int stages) {
    const int data = ranks() / (tensor * stages);
    auto run = test::tiny_run(family, data, 2, 2);
    run.parallel.tensor = tensor;
    run.parallel.stages = stages;
    run.parallel.ranks = run.parallel.ranks_per_node = ranks();
    return run;
}

/// Returns bytes by purpose, over all ranks.
schedule::BytesByPurpose bytes_of_all(const Assembly& assembly) {
    auto moved = assembly.bytes_moved();
    static_assert(sizeof(moved[0]) == sizeof(std::int64_t));
    comm::all_reduce_sum(test::world(), std::span<std::int64_t>{moved.data(), moved.size()});
    return moved;
}

/// Returns the bytes of this rank's GPU, the first visible one, outside of arenas.
std::int64_t bytes_outside_arenas(const Assembly& assembly) {
    return static_cast<std::int64_t>(emulated_cuda::reserved_bytes(0)) -
           assembly.arena_bytes(spec::Tier::device);
}

/// Returns the bytes that a plan counts for comm/nccl on this rank.
std::int64_t planned_exchange(const spec::RunSpec& run) {
    const auto programs = build_programs(run, test::world().rank());
    return plan::library_memory(run, std::array{&programs.train, &programs.evaluate}).exchange;
}

void expect_what_staging_gives(spec::RunSpec run) {
    schedule::BytesByPurpose staged_bytes{};
    schedule::BytesByPurpose nccl_bytes{};
    std::int64_t staged_concurrently = 0;
    std::int64_t concurrent_nccl = 0;
    run.parallel.transport = spec::Transport::staged;
    const auto staged = test::train_tiny(run, test::world(), Keep::tensors, [&](const Assembly& assembly) {
        staged_bytes = bytes_of_all(assembly);
        staged_concurrently = bytes_outside_arenas(assembly);
    });
    run.parallel.transport = spec::Transport::nccl;
    const auto nccl = test::train_tiny(run, test::world(), Keep::tensors, [&](const Assembly& assembly) {
        nccl_bytes = bytes_of_all(assembly);
        concurrent_nccl = bytes_outside_arenas(assembly);
    });
    const auto again = test::train_tiny(run, test::world(), Keep::tensors);  // drains at the same steps

    test::expect_class_b(nccl, staged);
    EXPECT_EQ(again.losses, nccl.losses) << "the same calls on the same ranks give the same bits";
    EXPECT_EQ(again.weights_hash, nccl.weights_hash);
    EXPECT_EQ(nccl_bytes, staged_bytes);
    EXPECT_EQ(concurrent_nccl - staged_concurrently, planned_exchange(run));
}

class NcclTraining : public ::testing::TestWithParam<const char*> {};

TEST_P(NcclTraining, WithDataRanks) {
    expect_what_staging_gives(run_of(GetParam(), 1, 1));
}

TEST_P(NcclTraining, WithSumsOfReceivedPieces) {
    if (ranks() > 2) {
        auto run = run_of(GetParam(), 1, 1);
        run.precision.compute = run.precision.gradient = spec::DType::bf16;
        run.sharding.optimizer = ranks();
        run.parallel.transport = spec::Transport::nccl;
        EXPECT_GT(planned_exchange(run), 0);
        expect_what_staging_gives(run);
    }
}

TEST_P(NcclTraining, WithAllStateCut) {
    auto run = run_of(GetParam(), 1, 1);
    run.sharding.parameters = run.sharding.gradients = run.sharding.optimizer = ranks();
    run.sharding.reduce = spec::ReducePlan::each_microbatch;
    expect_what_staging_gives(run);
}

TEST_P(NcclTraining, WithTensorRanks) {
    if (ranks() % 2 == 0) {
        expect_what_staging_gives(run_of(GetParam(), 2, 1));
    }
}

TEST_P(NcclTraining, WithStages) {
    if (ranks() % 2 == 0) {
        expect_what_staging_gives(run_of(GetParam(), 1, 2));
    }
}

/// Each rank sends keys and values to the next one, and receives those of the previous one.
TEST_P(NcclTraining, InARing) {
    if (ranks() > 1) {
        auto run = run_of(GetParam(), 1, 1);
        run.model.max_seq = run.data.seq = 24;
        run.train.global_batch /= ranks();
        run.parallel.context = ranks();
        run.parallel.context_kind = spec::ContextKind::ring;
        expect_what_staging_gives(run);
    }
}

TEST_P(NcclTraining, OnAGrid) {
    if (ranks() == 4) {
        auto run = run_of(GetParam(), 2, 1);
        run.model.hidden = 48;
        run.model.head_dim = 8;
        run.parallel.tensor_rows = 2;
        run.parallel.data = 1;
        expect_what_staging_gives(run);
    }
}

TEST_P(NcclTraining, WithoutAFlush) {
    if (ranks() > 1) {
        auto run = run_of(GetParam(), 1, ranks());
        run.model.layers = ranks();
        run.model.tie_embeddings = false;
        run.model.dropout = 0;
        run.optimizer.clip = spec::ClipPolicy::off;
        run.parallel.pipeline_schedule = spec::PipelineSchedule::pipedream;
        run.train.steps = 4;
        expect_what_staging_gives(run);
    }
}

/// Stages share the embedding. The home of its gradients is the host in one of them.
TEST_P(NcclTraining, WithStateOnTheHost) {
    auto run = run_of(GetParam(), 1, ranks() % 2 == 0 ? 2 : 1);
    run.tiers.parameters = run.tiers.optimizer = {.device = 0, .host = 1, .nvme = 0};
    run.tiers.chunk_elements = 4096;
    expect_what_staging_gives(run);
}

INSTANTIATE_TEST_SUITE_P(Families, NcclTraining, ::testing::Values("gpt2", "llama"), [](const auto& made) {
    return made.param;
});

}  // namespace
}  // namespace ziggurat::train
