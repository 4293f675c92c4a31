/// Trainings whose GPUs communicate by NCCL, against those through the host: class B, and the same
/// bytes.
#include <gtest/gtest.h>

#include "tests/emulated_cuda/calls.hpp"
#include "tests/mpi/nccl/nccl_trainings.hpp"

namespace ziggurat::train {
namespace {

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

/// Training and validation gather parameters with the same communicator.
TEST_P(NcclTraining, HasOneCommunicatorForEachGroup) {
    auto run = run_of(GetParam(), 1, 1);
    run.parallel.transport = spec::Transport::nccl;
    run.sharding.parameters = run.sharding.gradients = run.sharding.optimizer = ranks();
    run.sharding.reduce = spec::ReducePlan::each_microbatch;
    const auto before = emulated_cuda::num_calls(emulated_cuda::Counted::communicators);
    std::int64_t started = 0;
    test::train_tiny(run, test::world(), test::Keep::nothing, [&](const Assembly&) {
        started = emulated_cuda::num_calls(emulated_cuda::Counted::communicators) - before;
    });
    EXPECT_EQ(started, 1);
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
