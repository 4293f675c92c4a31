#include "plan/search/choose_homes.hpp"

#include <gtest/gtest.h>

#include "plan/memory_table.hpp"
#include "plan/plan_run.hpp"
#include "plan/report/memory_report.hpp"
#include "spec/depths.hpp"
#include "spec/home_text.hpp"
#include "tests/unit/schedule/small_spec.hpp"

namespace ziggurat::plan {
namespace {

using spec::Home;
using spec::Tier;

constexpr std::int64_t MiB = 1 << 20;

/// Returns a run whose memory is nearly all state.
spec::RunSpec all_open(std::int64_t layers, int ranks = 1) {
    auto spec = test::small_spec("llama", ranks);
    spec.model.layers = layers;
    spec.model.hidden = 256;
    spec.model.heads = 8;
    spec.model.kv_heads = 4;
    spec.model.head_dim = 32;
    spec.model.ffn_hidden = 768;
    spec.train.micro_batch = 1;
    spec.train.micro_batches = 1;
    spec.precision.compute = spec::DType::bf16;
    spec.recompute.kind = spec::RecomputeKind::full;
    spec.sharding.reduce = spec::ReducePlan::at_end;
    spec.tiers.chunk_elements = 1 << 16;
    spec.tiers.open = {true, true, true, true, true};
    return spec;
}

std::int64_t needed(const spec::RunSpec& spec, Tier tier) {
    return plan_run(spec).footprint.needed[static_cast<std::size_t>(tier)];
}

TEST(ChooseHomes, LeavesOnTheDeviceWhatFits) {
    auto spec = all_open(4);
    spec.tiers.device_budget_bytes = needed(spec, Tier::device);

    const auto chosen = choose_homes(spec, {});

    EXPECT_FALSE(chosen.tiers.open.any());
    for (const auto& home : {chosen.tiers.parameters, chosen.tiers.gradients, chosen.tiers.optimizer,
                             chosen.tiers.activations}) {
        EXPECT_EQ(home, Home{});
    }
    EXPECT_EQ(chosen.sharding.reduce, spec::ReducePlan::at_end);
}

TEST(ChooseHomes, LetsTheOptimizerLeaveFirstAndInChunks) {
    auto spec = all_open(4);
    spec.tiers.device_budget_bytes = needed(spec, Tier::device) - 8 * MiB;
    spec.tiers.host_budget_bytes = 1024 * MiB;

    const auto chosen = choose_homes(spec, {});

    EXPECT_GT(chosen.tiers.optimizer.device, 0.5);
    EXPECT_GT(chosen.tiers.optimizer.host, 0.05);
    EXPECT_EQ(chosen.tiers.optimizer.nvme, 0);
    EXPECT_EQ(chosen.tiers.gradients, Home{});
    EXPECT_EQ(chosen.tiers.parameters, Home{});
    const auto footprint = plan_run(chosen).footprint;
    EXPECT_TRUE(footprint.fits());
    const auto chunk = 12 * spec.tiers.chunk_elements;
    EXPECT_LT(footprint.budget[0] - footprint.needed[0], 2 * chunk) << "less than a chunk and its staging";
}

TEST(ChooseHomes, FillsTheHostAndThenNvme) {
    auto spec = all_open(8);
    spec.tiers.device_budget_bytes = needed(spec, Tier::device) / 3;
    spec.tiers.host_budget_bytes = 24 * MiB;
    const auto without_paths = choose_homes(spec, {});
    EXPECT_EQ(without_paths.tiers.optimizer, (Home{0, 1, 0}));
    EXPECT_FALSE(plan_run(without_paths).footprint.fits());

    spec.tiers.nvme_paths = {"disk"};
    const auto chosen = choose_homes(spec, {});

    EXPECT_GT(chosen.tiers.optimizer.nvme, 0);
    EXPECT_EQ(chosen.tiers.parameters.nvme, 0) << spec::write_home(chosen.tiers.parameters);
    const auto footprint = plan_run(chosen).footprint;
    EXPECT_TRUE(footprint.fits());
    EXPECT_GT(footprint.needed[1], 24 * MiB * 9 / 10);
}

TEST(ChooseHomes, SumsGradientsAwayFromTheDeviceAtOnce) {
    auto spec = all_open(4);
    spec.tiers.device_budget_bytes = needed(spec, Tier::device) / 3;
    spec.tiers.host_budget_bytes = 1024 * MiB;

    const auto chosen = choose_homes(spec, {});
    EXPECT_LT(chosen.tiers.gradients.device, 1);
    EXPECT_EQ(chosen.sharding.reduce, spec::ReducePlan::each_microbatch);
}

TEST(ChooseHomes, LeavesWhatTheDeckSaysAlone) {
    auto spec = all_open(4);
    spec.tiers.open = {.parameters = true};
    spec.tiers.device_budget_bytes = 1;
    spec.tiers.host_budget_bytes = 1024 * MiB;

    const auto chosen = choose_homes(spec, {});
    EXPECT_EQ(chosen.tiers.parameters, (Home{0, 1, 0}));
    EXPECT_EQ(chosen.tiers.optimizer, Home{});
}

TEST(ChooseHomes, CutsIntoNoMoreTilesThanItMust) {
    auto spec = all_open(2);
    spec.tiers.open = {.tiles = true};
    spec.tiers.parameters = spec.tiers.gradients = spec.tiers.optimizer = spec.tiers.activations = {0, 1, 0};
    spec.tiers.host_budget_bytes = 1024 * MiB;
    const auto tiles_within = [&](std::int64_t bytes) {
        spec.tiers.device_budget_bytes = bytes;
        const auto chosen = choose_homes(spec, {});
        EXPECT_FALSE(chosen.tiers.open.tiles);
        EXPECT_EQ(chosen.tiers.optimizer, (Home{0, 1, 0}));
        return chosen.tiers.tiles;
    };
    const auto whole = needed(spec, Tier::device);
    EXPECT_TRUE(tiles_within(whole).empty());

    const auto few = tiles_within(whole - 1);
    ASSERT_EQ(few.size(), 1U);
    EXPECT_EQ(few.front(), (spec::TileRule{.match = "*", .in = 1, .out = 2}));

    spec.tiers.tiles = few;
    const auto in_halves = needed(spec, Tier::device);
    spec.tiers.tiles = {};
    const auto more = tiles_within(in_halves - 1);
    ASSERT_EQ(more.size(), 1U);
    EXPECT_GT(more.front().out, 2);
    spec.tiers.tiles = more;
    EXPECT_EQ(plan_run(spec).footprint.shortfall(Tier::device), 0);
    spec.tiers.tiles.front().out -= 1;
    EXPECT_GT(plan_run(spec).footprint.shortfall(Tier::device), 0) << "one less fits too";
}

TEST(ChooseHomes, FetchesNothingAheadWhereThatTakesMoreThanTwiceTheTiles) {
    auto spec = all_open(2, 2);
    spec.sharding = {2, 2, 2, 0, spec::ReducePlan::each_microbatch, 2};
    spec.model.vocab = 4096;
    spec.model.layers = 4;
    spec.data.seq = spec.model.max_seq = 64;
    spec.train.micro_batch = 2;
    spec.model.hidden = 128;
    spec.model.head_dim = 16;
    spec.model.ffn_hidden = 384;
    spec.tiers.open = {.tiles = true, .prefetch = true};
    spec.tiers.parameters = spec.tiers.gradients = spec.tiers.optimizer = {0, 0, 1};
    spec.tiers.activations = {0, 1, 0};
    spec.tiers.nvme_paths = {"/"};
    spec.tiers.nvme_budget_bytes = 1024 * MiB;
    spec.tiers.host_budget_bytes = 1024 * MiB;
    spec.overlap.prefetch = 2;
    const auto tiles_at = [&](int prefetch, bool is_auto) {
        auto tried = spec;
        tried.overlap.prefetch = prefetch;
        tried.tiers.open.prefetch = is_auto;
        const auto chosen = choose_homes(tried, {});
        EXPECT_FALSE(chosen.tiers.open.prefetch);
        EXPECT_EQ(chosen.overlap.prefetch, prefetch) << "that is for choose_depths";
        return chosen.tiers.tiles.empty() ? 1 : chosen.tiers.tiles.front().out;
    };
    int given_up = 0;
    int kept = 0;
    int at_once = 1;
    for (auto budget = needed(spec, Tier::device); at_once < 64; budget -= budget / 64) {
        spec.tiers.device_budget_bytes = budget;
        const int ahead = tiles_at(spec.overlap.prefetch, false);
        at_once = tiles_at(0, false);
        const int chosen = tiles_at(spec.overlap.prefetch, true);
        EXPECT_LE(at_once, ahead);
        EXPECT_EQ(chosen, ahead > 2 && ahead > 2 * at_once ? at_once : ahead) << budget;
        given_up += chosen < ahead ? 1 : 0;
        kept += chosen > at_once ? 1 : 0;
    }
    EXPECT_GT(given_up, 0);
    EXPECT_GT(kept, 0);
}

TEST(ChooseHomes, ChoosesForEachStageInItsOwnBudget) {
    auto spec = all_open(6);
    spec.parallel.stages = spec.parallel.ranks = spec.parallel.ranks_per_node = 2;
    spec.parallel.stage_layers = {1, 5};
    spec.train.micro_batches = 2;
    spec.sharding.reduce = spec::ReducePlan::each_microbatch;
    spec.tiers.device_budget_bytes = bytes_of_rank(spec, 0)[0];
    spec.tiers.host_budget_bytes = 1024 * MiB;
    ASSERT_LT(spec.tiers.device_budget_bytes, bytes_of_rank(spec, 1)[0]);

    const auto chosen = choose_homes(spec, {});

    ASSERT_EQ(chosen.stages.size(), 2u);
    EXPECT_EQ(chosen.stages[0].optimizer, Home{});
    EXPECT_LT(chosen.stages[1].optimizer.device, 1);
    EXPECT_TRUE(plan_run(chosen).footprint.fits());
    EXPECT_FALSE(spec::has_auto_home(chosen));
}

/// Returns a run whose memory is nearly all activations.
spec::RunSpec open_recomputation() {
    auto spec = test::small_spec("gpt2");
    spec.model.layers = 8;
    spec.data.seq = 512;
    spec.train.micro_batch = 4;
    spec.recompute.is_auto = true;
    return spec;
}

TEST(ChooseHomes, RecomputesAsLittleAsTheBudgetHolds) {
    using enum spec::RecomputeKind;
    for (const auto kind : {none, selective, full}) {
        auto spec = open_recomputation();
        spec.recompute.kind = kind;
        spec.tiers.device_budget_bytes = needed(spec, Tier::device);
        spec.recompute.kind = none;
        EXPECT_EQ(choose_homes(spec, {}).recompute, (spec::Recompute{.kind = kind}));

        spec.tiers.open.activations = true;
        spec.tiers.host_budget_bytes = 1024 * MiB;
        const auto chosen = choose_homes(spec, {});
        EXPECT_EQ(chosen.recompute.kind, kind) << "before activations leave the device";
        EXPECT_EQ(chosen.tiers.activations, Home{});
    }
}

TEST(ChooseHomes, RecomputesOnTheStagesThatNeedIt) {
    auto spec = open_recomputation();
    spec.parallel.stages = spec.parallel.ranks = spec.parallel.ranks_per_node = 4;
    spec.train.micro_batches = 8;
    spec.tiers.device_budget_bytes = bytes_of_rank(spec, 0)[0] - 1;

    const auto chosen = choose_homes(spec, {});

    ASSERT_EQ(chosen.stages.size(), 4u);
    EXPECT_NE(chosen.stages.front().recompute.kind, spec::RecomputeKind::none);
    EXPECT_EQ(chosen.stages.back().recompute.kind, spec::RecomputeKind::none) << "it keeps one micro-batch";
    EXPECT_TRUE(plan_run(chosen).footprint.fits());
}

/// Returns the bytes of parameters, gradients and optimizer state on a rank.
std::int64_t state_bytes(const spec::RunSpec& spec) {
    const auto plan = plan_run(spec);
    std::int64_t bytes = 0;
    for (const auto& row : memory_usage(spec, plan.fullest().program, {plan.fullest().rank_bytes}).rows) {
        if (row.consumer == schedule::MemoryCategory::parameters ||
            row.consumer == schedule::MemoryCategory::optimizer) {
            bytes += row.bytes[0] + row.bytes[1];
        }
    }
    return bytes;
}

TEST(ChooseHomes, UsesNineTenthsOfDeviceAndHostForTheLargestModel) {
    const auto with_layers = [](std::int64_t layers) {
        auto spec = all_open(layers);
        spec.tiers.device_budget_bytes = 96 * MiB;
        spec.tiers.host_budget_bytes = 224 * MiB;
        return choose_homes(spec, {});
    };
    std::int64_t fits = 8;
    std::int64_t too_many = 64;
    while (too_many - fits > 1) {
        const auto middle = (fits + too_many) / 2;
        (plan_run(with_layers(middle)).footprint.fits() ? fits : too_many) = middle;
    }
    const auto largest = with_layers(fits);
    const auto plan = plan_run(largest).footprint;
    const auto gradients = spec::Home{} == largest.tiers.gradients ? 0 : state_bytes(largest) / 14 * 4;
    const auto state = state_bytes(largest) + gradients;
    const auto working_set = plan.needed[0] + plan.needed[1] - state;
    EXPECT_GT(fits, 8);
    EXPECT_GE(static_cast<double>(state), 0.9 * static_cast<double>(320 * MiB - working_set));
    EXPECT_LT(working_set, 64 * MiB) << "else this says little";

    const auto report = memory_report(with_layers(fits + 1));
    EXPECT_FALSE(report.fits);
    const auto shortfall = report.footprint.total_lack();
    EXPECT_GT(shortfall, 0);
    EXPECT_LT(shortfall, 18 * MiB) << "about a layer";
    EXPECT_NE(report.table.find("DOES NOT FIT: "), std::string::npos);
    EXPECT_NE(report.table.find(" bytes) per "), std::string::npos) << report.table;
}

}  // namespace
}  // namespace ziggurat::plan
