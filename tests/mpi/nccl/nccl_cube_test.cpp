/// Training on a cube of tensor ranks whose GPUs communicate by NCCL, against one through the host.
#include <gtest/gtest.h>

#include "tests/mpi/nccl/nccl_trainings.hpp"

namespace ziggurat::train {
namespace {

class NcclCube : public ::testing::TestWithParam<const char*> {};

TEST_P(NcclCube, TrainsAsThroughTheHost) {
    ASSERT_EQ(ranks(), 8);
    auto run = test::tiny_run(GetParam(), 4, 2, 2);
    run.parallel.tensor = run.parallel.tensor_rows = run.parallel.tensor_depth = 2;
    run.parallel.tensor_mode = spec::TensorMode::three_d;
    run.parallel.data = run.sharding.sum_group = 2;
    run.sharding.parameters = run.sharding.gradients = run.sharding.optimizer = 2;
    run.parallel.ranks = run.parallel.ranks_per_node = ranks();
    expect_what_staging_gives(run);
}

INSTANTIATE_TEST_SUITE_P(Families, NcclCube, ::testing::Values("gpt2", "llama"), [](const auto& made) {
    return made.param;
});

}  // namespace
}  // namespace ziggurat::train
