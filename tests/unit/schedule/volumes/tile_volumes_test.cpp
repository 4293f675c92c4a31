/// Volumes of runs with tiled weights: formulas against those of programs.
#include "schedule/volumes/tile_volumes.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <vector>

#include "layout/families/adapters.hpp"
#include "schedule/build_program.hpp"
#include "schedule/volumes/all_axes.hpp"
#include "schedule/volumes/volumes.hpp"
#include "tests/support/random/random_spec.hpp"
#include "tests/support/random/spec_coverage.hpp"
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

/// Frozen products are read forward and, for gradients of inputs, backward; both passes read A and B.
TEST(TileVolumes, HaveAdaptersInEachPassAndTheirGradientsAlone) {
    auto spec = tiled();
    spec.model.layers = 2;
    const auto without = tile_volumes_of_axis(spec, ModelLayout{spec, 0});
    spec.model.lora = {.rank = 2, .alpha = 2, .targets = {"attention.q", "mlp.down"}};
    spec.train.only = layout::patterns_of_adapters();

    const auto volumes = tile_volumes_of_axis(spec, ModelLayout{spec, 0});

    constexpr std::int64_t adapters = 2 * (32 + 32) + 2 * (128 + 32);
    // No gradient passes through the first norm and product of the first layer.
    EXPECT_EQ(volumes.gathers, without.gathers + 2 * (2 * 2 * adapters - 96 * 32 - 32));
    EXPECT_EQ(volumes.reduction, 2 * 2 * adapters);
}

/// Compares the total over all ranks, up to the rounding of each collective.
///
/// Returns the compared specs.
std::vector<spec::RunSpec> compared_with_programs(std::int64_t count, bool has_adapters) {
    std::vector<spec::RunSpec> compared;
    for (std::int64_t seed = 1; seed <= count; ++seed) {
        auto spec = test::random_spec(static_cast<std::uint64_t>(seed),
                                      {.context = false, .stages_differ = true, .lora = has_adapters});
        if (spec.tiers.tiles.empty()) {
            continue;
        }
        if (spec.parallel.tensor > 1 && seed % 2 == 0) {  // few have both by chance
            spec.parallel.sequence = false;
            spec.recompute.split = true;
        }
        compared.push_back(spec);
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
            EXPECT_NEAR(sent[purpose], bytes, rounded[purpose] + 0.5)
                << to_string(purpose) << ", seed " << seed << ": " << test::described(spec);
        }
    }
    return compared;
}

TEST(TileVolumes, AreWhatProgramsSend) {
    const auto count = test::count_from_environment("ZIGGURAT_SPECS", 200);
    const auto specs = compared_with_programs(count, false);
    EXPECT_GT(std::ssize(specs), count / 8);
    EXPECT_GT(std::ranges::count_if(specs, [](const auto& spec) { return spec.recompute.split; }),
              count / 50);
}

TEST(TileVolumes, AreWhatProgramsOfAdaptersSend) {
    const auto count = test::count_from_environment("ZIGGURAT_SPECS", 200);
    EXPECT_GT(std::ssize(compared_with_programs(count, true)), count / 8);
}

}  // namespace
}  // namespace ziggurat::schedule
