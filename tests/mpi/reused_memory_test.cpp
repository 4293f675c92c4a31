/// Class A of tiers.reuse: gradients in the memory of parameters leave the bits alone.
#include <gtest/gtest.h>

#include <string>

#include "schedule/build_program.hpp"
#include "schedule/volumes/link_traffic.hpp"
#include "tests/support/rank_test.hpp"
#include "tests/support/tiny_training.hpp"

namespace ziggurat::train {
namespace {

/// Returns the bytes of state of this rank at home, in all tiers.
std::int64_t state_bytes(const spec::RunSpec& run) {
    std::int64_t bytes = 0;
    const auto program = schedule::build_program(run, test::world().rank(), schedule::Variant::train);
    for (const auto& by_tier : schedule::bytes_at_home(program)) {
        bytes += by_tier[0] + by_tier[1] + by_tier[2];
    }
    return bytes;
}

class ReusedMemory : public ::testing::TestWithParam<std::string> {};

TEST_P(ReusedMemory, LeavesTheBitsAloneAndTakesFourteenBytesForEachParameter) {
    const int ranks = test::world().size();
    for (const int zero : {0, 3}) {
        for (const spec::Home home : {spec::Home{}, spec::Home{0, 1, 0}, spec::Home{0.4, 0.6, 0}}) {
            SCOPED_TRACE("zero " + std::to_string(zero) + ", device " + std::to_string(home.device));
            auto run = test::tiny_run(GetParam(), ranks, 2, 1);
            run.precision.compute = run.precision.gradient = spec::DType::bf16;
            run.sharding.reduce = spec::ReducePlan::each_microbatch;
            run.sharding.parameters = run.sharding.gradients = run.sharding.optimizer = zero == 3 ? ranks : 1;
            run.tiers.chunk_elements = 4096;
            run.train.average = {};
            const auto expected = test::train_on_host(run, test::world());

            run.tiers.parameters = run.tiers.gradients = home;
            const auto bytes = state_bytes(run);
            run.tiers.reuse = true;
            const auto reusing = state_bytes(run);
            const auto ours = test::train_tiny(run, test::world(), test::Keep::nothing);

            EXPECT_EQ(16 * reusing, 14 * bytes);
            EXPECT_EQ(ours.losses, expected.losses);
            EXPECT_EQ(ours.norms, expected.norms);
            EXPECT_EQ(ours.weights_hash, expected.weights_hash);
            EXPECT_EQ(ours.evaluated, expected.evaluated);
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Families, ReusedMemory, ::testing::Values("gpt2", "llama"), [](const auto& made) {
    return made.param;
});

}  // namespace
}  // namespace ziggurat::train
