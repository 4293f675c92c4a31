/// Class A of tiles: with the same tiles, the bits are the same for state in any tier.
///
/// Against whole weights, forward is class A. The gradient of a tiled product's input is a sum over tiles:
/// class B.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "tests/support/rank_test.hpp"
#include "tests/support/scratch_folder.hpp"
#include "tests/support/tiny_training.hpp"

namespace ziggurat::train {
namespace {

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

spec::RunSpec small_run(const std::string& family, std::int64_t micro_batches) {
    auto run = test::tiny_run(family, test::world().size(), 2, micro_batches);
    run.tiers.chunk_elements = 4096;
    return run;
}

void shard_all(spec::RunSpec& run) {
    run.sharding.parameters = run.sharding.gradients = run.sharding.optimizer = test::world().size();
}

class Tiles : public ::testing::TestWithParam<std::string> {};

TEST_P(Tiles, OfLinearsLeaveTheBitsAloneWhateverTheSharding) {
    for (const auto plan : {ReducePlan::at_end, ReducePlan::each_microbatch}) {
        auto run = small_run(GetParam(), 2);
        run.sharding.reduce = plan;
        run.tiers.tiles = {{.match = "mlp.*", .in = 1, .out = 3},
                           {.match = "attention.q", .in = 1, .out = 2}};
        const auto expected = train(run);
        shard_all(run);
        expect_same_bits(train(run), expected);
        run.recompute.kind = spec::RecomputeKind::full;
        run.overlap.prefetch = 3;
        expect_same_bits(train(run), expected);
    }
}

/// Returns a run with a vocabulary of three tiles; the tokens of the test are in the first tile.
spec::RunSpec wide_run(const std::string& family) {
    auto run = small_run(family, 2);
    run.model.vocab = 2500;
    run.model.vocab_padded = 2512;
    return run;
}

void expect_near(const TinyOutcome& ours, const TinyOutcome& expected) {
    // Forward is equal bit for bit: the products and their sums are the same.
    EXPECT_EQ(ours.losses.front(), expected.losses.front());
    for (std::size_t step = 0; step < expected.losses.size(); ++step) {
        EXPECT_NEAR(ours.losses[step], expected.losses[step], 1e-5 * std::abs(expected.losses[step]));
        EXPECT_NEAR(ours.norms[step], expected.norms[step], 1e-5 * expected.norms[step]);
    }
}

TEST_P(Tiles, GiveTheLossesOfWholeWeights) {
    for (const auto plan : {ReducePlan::at_end, ReducePlan::each_microbatch}) {
        auto run = wide_run(GetParam());
        run.sharding.reduce = plan;
        shard_all(run);
        const auto expected = train(run);
        for (const auto* match : {"mlp.*", "attention.*", "head", "embedding.token", "*"}) {
            SCOPED_TRACE(match);
            run.tiers.tiles = {{.match = match, .in = 1, .out = 3}};
            expect_near(train(run), expected);
        }
    }
}

TEST_P(Tiles, OfAllWeightsLeaveTheBitsAloneWhereverStateIs) {
    const test::ScratchFolder folder;
    auto run = wide_run(GetParam());
    run.sharding.reduce = ReducePlan::each_microbatch;
    run.tiers.tiles = {{.match = "*", .in = 1, .out = 3}};
    run.tiers.nvme_block_bytes = 8192;
    run.tiers.nvme_paths = {folder.path()};
    const auto expected = train(run);
    shard_all(run);
    expect_same_bits(train(run), expected);
    for (auto spec::Tiers::*kind : {&spec::Tiers::parameters, &spec::Tiers::gradients,
                                    &spec::Tiers::optimizer, &spec::Tiers::activations}) {
        auto moved = run;
        moved.tiers.*kind = Home{0, 1, 0};
        expect_same_bits(train(moved), expected);
    }
    for (const auto& home : {Home{0, 1, 0}, Home{0, 0, 1}, Home{0.25, 0.35, 0.4}}) {
        run.tiers.parameters = run.tiers.gradients = run.tiers.optimizer = run.tiers.activations = home;
        expect_same_bits(train(run), expected);
    }
    run.sharding.parameters = run.sharding.gradients = run.sharding.optimizer = 1;
    expect_same_bits(train(run), expected);
}

TEST_P(Tiles, InBfloat16) {
    auto run = wide_run(GetParam());
    run.precision.compute = spec::DType::bf16;
    run.sharding.reduce = ReducePlan::each_microbatch;
    const auto whole = train(run);
    run.tiers.tiles = {{.match = "*", .in = 1, .out = 3}};
    const auto expected = train(run);
    EXPECT_EQ(expected.losses.front(), whole.losses.front());
    shard_all(run);
    expect_same_bits(train(run), expected);
}

INSTANTIATE_TEST_SUITE_P(Families, Tiles, ::testing::Values("gpt2", "llama"), [](const auto& made) {
    return std::string{made.param == "gpt2" ? "Gpt2" : "Llama"};
});

}  // namespace
}  // namespace ziggurat::train
