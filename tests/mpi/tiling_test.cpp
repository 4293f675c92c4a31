/// Class A of tiles: cut along their outputs, weights give the bits that they give whole.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "tests/support/rank_test.hpp"
#include "tests/support/scratch_folder.hpp"
#include "tests/support/tiny_training.hpp"

namespace ziggurat::train {
namespace {

using spec::Family;
using spec::Home;
using spec::ReducePlan;
using test::TinyOutcome;

TinyOutcome train(const spec::RunSpec& run) {
    return test::train_tiny(run, test::world(), test::Keep::nothing);
}

void expect_same_bits(const TinyOutcome& ours, const TinyOutcome& expected) {
    EXPECT_EQ(ours.losses, expected.losses);
    EXPECT_EQ(ours.norms, expected.norms);
    EXPECT_EQ(ours.weights_hash, expected.weights_hash);
    EXPECT_EQ(ours.evaluated, expected.evaluated);
}

spec::RunSpec small_run(Family family, std::int64_t micro_batches) {
    auto run = test::tiny_run(family, test::world().size(), 2, micro_batches);
    run.tiers.chunk_elements = 4096;
    return run;
}

void shard_all(spec::RunSpec& run) {
    run.sharding.parameters = run.sharding.gradients = run.sharding.optimizer = test::world().size();
}

class Tiles : public ::testing::TestWithParam<Family> {};

TEST_P(Tiles, OfLinearsLeaveTheBitsAloneWhateverTheSharding) {
    for (const auto plan : {ReducePlan::at_end, ReducePlan::each_microbatch}) {
        auto run = small_run(GetParam(), 2);
        run.sharding.reduce = plan;
        run.tiers.tiles = {{.match = "mlp.*", .out = 3}, {.match = "attention.q", .out = 2}};
        const auto expected = train(run);
        shard_all(run);
        expect_same_bits(train(run), expected);
        run.recompute.kind = spec::RecomputeKind::full;
        run.overlap.prefetch = 3;
        expect_same_bits(train(run), expected);
    }
}

INSTANTIATE_TEST_SUITE_P(Families,
                         Tiles,
                         ::testing::Values(Family::gpt2, Family::llama),
                         [](const auto& made) {
                             return std::string{made.param == Family::gpt2 ? "Gpt2" : "Llama"};
                         });

}  // namespace
}  // namespace ziggurat::train
