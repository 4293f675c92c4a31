/// Volumes of runs with tiled weights: formulas against those of programs.
#include "schedule/volumes/tile_volumes.hpp"

#include <gtest/gtest.h>

#include <map>

#include "schedule/build_program.hpp"
#include "schedule/volumes/all_axes.hpp"
#include "schedule/volumes/volumes.hpp"
#include "tests/support/random/random_spec.hpp"
#include "tests/support/simulated_ranks.hpp"
#include "tests/unit/schedule/small_spec.hpp"

namespace ziggurat::schedule {
namespace {

/// Returns one layer of GPT-2 on two data ranks with ZeRO 3, with its whole MLP in tiles of 16 rows.
spec::RunSpec tiled() {
    auto spec = test::small_spec("gpt2", 2);
    spec.sharding.parameters = spec.sharding.gradients = spec.sharding.optimizer = 2;
    spec.sharding.reduce = spec::ReducePlan::each_microbatch;
    spec.tiers.tiles = {{.match = "mlp.*", .in = 1, .out = 8}};
    return spec;
}

// One layer of width 32: products of 3 x 32, 32, 128 and 32 rows; 2 x 2 vectors of norms.
constexpr std::int64_t products = (96 + 32 + 128) * 32 + 32 * 128;
constexpr std::int64_t biases = 96 + 32 + 128 + 32;
constexpr std::int64_t gains = 2 * 32;

TEST(TileVolumes, AreAllParametersForwardAndWhatBackwardReads) {
    const auto spec = tiled();

    const auto volumes = tile_volumes_of_axis(spec, ModelLayout{spec, 0});

    EXPECT_EQ(volumes.gathers, 2 * (2 * products + biases + 3 * gains));
    EXPECT_EQ(volumes.reduction, 2 * (products + biases + 2 * gains));
    EXPECT_EQ(volumes.publication, 0);
}

TEST(TileVolumes, HaveWhatIsComputedAgainOnceMore) {
    auto spec = tiled();
    const auto once = tile_volumes_of_axis(spec, ModelLayout{spec, 0}).gathers;

    spec.recompute.kind = spec::RecomputeKind::selective;
    EXPECT_EQ(tile_volumes_of_axis(spec, ModelLayout{spec, 0}).gathers, once + 2 * 2 * gains);
    spec.recompute.kind = spec::RecomputeKind::full;  // except the last product, which is not read again
    EXPECT_EQ(tile_volumes_of_axis(spec, ModelLayout{spec, 0}).gathers,
              once + 2 * (products - 32 * 128 + biases - 32 + 2 * gains));
}

/// Compares the total over all ranks, up to the rounding of each collective.
TEST(TileVolumes, AreWhatProgramsSend) {
    int looked_at = 0;
    int split = 0;
    const auto count = test::count_from_environment("ZIGGURAT_SPECS", 200);
    for (std::int64_t seed = 1; seed <= count; ++seed) {
        auto spec =
            test::random_spec(static_cast<std::uint64_t>(seed), {.context = false, .stages_differ = true});
        if (spec.tiers.tiles.empty()) {
            continue;
        }
        if (spec.parallel.tensor > 1 && seed % 2 == 0) {  // few have both by chance
            spec.parallel.sequence = false;
            spec.recompute.split = true;
        }
        ++looked_at;
        split += spec.recompute.split ? 1 : 0;
        std::map<Purpose, double> expected, sent, rounded;
        for (int rank = 0; rank < spec.parallel.ranks; ++rank) {
            const auto program = build_program(spec, rank, Variant::train);
            for (const auto& [purpose, bytes] : bytes_by_formula(spec, ModelLayout{spec, rank})) {
                expected[purpose] += bytes;
            }
            for (const auto& op : program.ops) {
                sent[op.purpose] += static_cast<double>(bytes_sent(op, program));
                const bool divides = op.purpose == Purpose::tensor || op.purpose == Purpose::pipeline;
                rounded[op.purpose] += op.group < 0 || divides ? 0 : 2;
            }
        }
        for (const auto& [purpose, bytes] : expected) {
            ASSERT_NEAR(sent[purpose], bytes, rounded[purpose] + 0.5)
                << to_string(purpose) << ", seed " << seed << ": " << test::described(spec);
        }
    }
    EXPECT_GT(looked_at, count / 8);
    EXPECT_GT(split, count / 50);
}

}  // namespace
}  // namespace ziggurat::schedule
