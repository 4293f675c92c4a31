#include "plan/reduced_run.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "plan/plan_run.hpp"
#include "plan/report/memory_report.hpp"
#include "plan/scale_tiles.hpp"
#include "schedule/build_program.hpp"
#include "schedule/model_layout.hpp"
#include "tests/unit/plan/deep_spec.hpp"

namespace ziggurat::plan {
namespace {

using spec::Home;

/// Checks that the estimate is at least the whole run's, because a run that is planned to fit must fit.
///
/// \param max            limit of the estimate, as a multiple of the whole run's bytes
/// \param max_on_device  the same for the device
void expect_no_less_than_the_whole(const spec::RunSpec& spec, double max = 1.1, double max_on_device = 1.03) {
    const auto plan = plan_run(spec);
    const auto exact = bytes_of_rank(spec, 0);

    EXPECT_NE(plan.accuracy_note, "");
    for (std::size_t t = 0; t < exact.size(); ++t) {
        EXPECT_GE(plan.fullest().rank_bytes[t], exact[t]) << "tier " << t << ", " << plan.accuracy_note;
        EXPECT_LE(static_cast<double>(plan.fullest().rank_bytes[t]),
                  (t == 0 ? max_on_device : max) * static_cast<double>(exact[t]))
            << "tier " << t << ", " << plan.accuracy_note;
    }
}

TEST(ReducedRun, OfADeepModelIsNearTheWhole) {
    auto spec = deep(400);
    expect_no_less_than_the_whole(spec);
    spec.recompute = {spec::RecomputeKind::full, 3};
    expect_no_less_than_the_whole(spec);
    spec.tiers.optimizer = Home{0.31, 0.69, 0};
    spec.tiers.gradients = Home{0, 1, 0};
    spec.sharding.reduce = spec::ReducePlan::each_microbatch;
    expect_no_less_than_the_whole(spec);
    spec.tiers.activations = Home{0, 1, 0};
    spec.tiers.optimizer = Home{0, 0.1, 0.9};
    spec.tiers.parameters = Home{0.2, 0.8, 0};
    expect_no_less_than_the_whole(spec);
}

TEST(ReducedRun, KeepsTheStateBeforeSpeculativeUpdatesOfAllLayers) {
    for (const auto& optimizer : {Home{0, 1, 0}, Home{0, 0, 1}, Home{0, 0.3, 0.7}}) {
        auto spec = deep(400);
        spec.overlap.optimizer_with_backward = true;
        spec.optimizer.clip = spec::ClipPolicy::global;
        spec.tiers.optimizer = optimizer;
        expect_no_less_than_the_whole(spec);
    }
}

TEST(ReducedRun, IsNotWhatARunIsRefusedBy) {
    auto spec = deep(280);
    spec.tiers.activations = Home{0, 1, 0};
    spec.tiers.optimizer = Home{0, 0.1, 0.9};
    spec.tiers.parameters = Home{0.2, 0.8, 0};
    const auto exact = bytes_of_rank(spec, 0);
    const auto by_fewer_layers = plan_run(spec).fullest().rank_bytes;
    ASSERT_GT(by_fewer_layers[0], exact[0]);
    ASSERT_GT(by_fewer_layers[1], exact[1]);
    const auto with_budgets = [&](std::int64_t device, std::int64_t host) {
        auto limited = spec;
        limited.tiers.device_budget_bytes = device;
        limited.tiers.host_budget_bytes = host;
        return plan_run(limited);
    };
    const auto libraries = needs_of_rank(spec, 0).libraries;
    const auto device = exact[0] + libraries, host = exact[1] + libraries;

    const auto plan = with_budgets(device, host);
    EXPECT_TRUE(plan.footprint.fits());
    EXPECT_EQ(plan.accuracy_note, "");
    EXPECT_EQ(plan.fullest().rank_bytes, exact);
    EXPECT_FALSE(with_budgets(exact[0] - 1, host).footprint.fits());
}

TEST(ReducedRun, OfALayerInManyTilesIsNearTheWhole) {
    auto spec = deep(80);
    spec.model.hidden = 256;
    spec.model.head_dim = 64;
    spec.model.ffn_hidden = 512;
    spec.tiers.parameters = Home{0, 1, 0};
    spec.tiers.tiles = {{.match = "*", .in = 1, .out = 16}};
    spec.recompute.kind = spec::RecomputeKind::full;
    expect_no_less_than_the_whole(spec);
    spec.tiers.activations = spec.tiers.parameters;
    spec.tiers.gradients = spec.tiers.optimizer = Home{0, 0, 1};
    spec.sharding.reduce = spec::ReducePlan::each_microbatch;
    expect_no_less_than_the_whole(spec);
}

/// Workspaces of tiles shrink as well, which the plan does not account for.
TEST(ReducedRun, OfFineTilesIsNearTheWhole) {
    auto spec = deep(3, 2);
    spec.model.hidden = 512;
    spec.model.head_dim = 128;
    spec.model.ffn_hidden = 8192;
    spec.sharding = {2, 2, 2, 0, spec::ReducePlan::each_microbatch, 2};
    spec.tiers.parameters = Home{0, 1, 0};
    spec.tiers.tiles = {{.match = "*", .in = 1, .out = 1024}};
    expect_no_less_than_the_whole(spec, 1.2, 1.2);
    spec.tiers.gradients = spec.tiers.optimizer = spec.tiers.activations = Home{0, 1, 0};
    spec.tiers.tiles.front().out = 300;
    expect_no_less_than_the_whole(spec, 1.2, 1.2);
    spec.tiers.gradients = spec.tiers.optimizer = spec.tiers.parameters = Home{0, 0, 1};
    expect_no_less_than_the_whole(spec, 1.2, 1.2);
}

TEST(ReducedRun, KnowsTilesOnTheirWay) {
    auto whole = deep(2, 2);
    whole.model.hidden = 4096;
    whole.model.head_dim = 1024;
    whole.sharding = {2, 2, 2, 0, spec::ReducePlan::each_microbatch, 2};
    whole.tiers.parameters = whole.tiers.gradients = whole.tiers.optimizer = Home{0, 1, 0};
    whole.tiers.tiles = {{.match = "*", .in = 1, .out = 256}};
    const auto built = shortened(whole, Size::of_plan);
    const auto program =
        schedule::build_placed(built.spec, schedule::ModelLayout{built.spec, 0}, schedule::Variant::train);

    const auto factors = tile_factors(program, built, whole);

    int tiles = 0;
    for (std::size_t b = 0; b < factors.size(); ++b) {
        const auto& buffer = program.buffers[b];
        const bool is_on_its_way = buffer.name.find("gradients on device") != std::string::npos;
        tiles += is_on_its_way && factors[b] < 1 ? 1 : 0;
        EXPECT_TRUE(factors[b] == 1 || buffer.lifetime == schedule::Lifetime::transient) << buffer.name;
        EXPECT_GE(factors[b], 32.0 / 256) << buffer.name;
    }
    EXPECT_GT(tiles, 40);
}

TEST(ReducedRun, OfManyChunksIsNearTheWhole) {
    auto spec = wide(6000);
    expect_no_less_than_the_whole(spec);
    spec.tiers.optimizer = spec.tiers.gradients = Home{0, 1, 0};
    spec.sharding.reduce = spec::ReducePlan::each_microbatch;
    expect_no_less_than_the_whole(spec);
    spec.tiers.optimizer = Home{0, 0, 1};
    expect_no_less_than_the_whole(spec);
}

TEST(ReducedRun, IsTheWholeUpToTheSizesOfToday) {
    EXPECT_EQ(shortened(deep(256), Size::of_search).spec, deep(256));
    EXPECT_EQ(shortened(wide(3500), Size::of_search).spec, wide(3500));
    EXPECT_EQ(plan_run(deep(126)).fullest().rank_bytes, bytes_of_rank(deep(126), 0));
    EXPECT_EQ(plan_run(deep(126)).accuracy_note, "");
}

TEST(ReducedRun, HasLayersOfEachKind) {
    auto spec = deep(600);
    spec.train.only = {"layers.599.*", "layers.50?.attention.*"};
    spec.tiers.tiles = {{.match = "layers.7.*", .in = 1, .out = 2}};
    const auto built = shortened(spec, Size::of_plan);
    const schedule::ModelLayout model{built.spec, 0};

    EXPECT_LT(built.spec.model.layers, 140);
    double trained = 0, partly = 0, cut = 0;
    for (int layer = 0; layer < built.layers.size(); ++layer) {
        const auto& parameters = model.table.units[static_cast<std::size_t>(layer) + 1].parameters;
        const auto count = std::ranges::count_if(parameters, &layout::Parameter::is_trained);
        trained += count == std::ssize(parameters) ? built.layers.represents(layer) : 0;
        partly += count > 0 && count < std::ssize(parameters) ? built.layers.represents(layer) : 0;
        cut += model.tiling(layer + 1).is_cut() ? built.layers.represents(layer) : 0;
    }
    EXPECT_EQ(trained, 1);
    EXPECT_NEAR(partly, 10, 1e-9);
    EXPECT_EQ(cut, 1);
    spec.train.only = {"*.weight"};
    EXPECT_EQ(shortened(spec, Size::of_plan).spec.train.only, spec.train.only);
}

TEST(ReducedRun, OfLayersThatAreNotAlikeIsNoLessThanTheWhole) {
    auto spec = deep(500);
    spec.train.only = {"layers.1*"};
    expect_no_less_than_the_whole(spec, 1.2, 1.2);
    spec.train.only = {"layers.*5.*", "head.*"};
    spec.tiers.activations = spec.tiers.optimizer = Home{0.31, 0.69, 0};
    expect_no_less_than_the_whole(spec, 1.2, 1.2);
    spec.train.only.clear();
    spec.tiers.parameters = Home{0, 1, 0};
    spec.tiers.tiles = {{.match = "layers.3??.*", .in = 1, .out = 2}};
    expect_no_less_than_the_whole(spec, 1.2, 1.2);
}

/// Regression: a save's copy of parameters covered only the built layers, a sixth of the host memory.
TEST(ReducedRun, KnowsWhatASaveCopiesBesideStatesOnNvme) {
    auto spec = deep(412);
    spec.precision.compute = spec::DType::f32;
    spec.checkpoint.is_async = true;
    spec.tiers.optimizer = Home{0, 0, 1};
    expect_no_less_than_the_whole(spec);
}

/// Regression: tokens of unbuilt micro-batches counted as the end of long-lived buffers: 50 % too much.
TEST(ReducedRun, KnowsWhereBatchesLie) {
    auto spec = deep(336);
    spec.train.micro_batches = 6;
    spec.train.global_batch = 12;
    expect_no_less_than_the_whole(spec);
}

/// Activations on the host need memory in addition to state in transit to NVMe.
TEST(ReducedRun, KnowsActivationsBesideStatesOnTheirWay) {
    auto spec = deep(476, 2);
    spec.precision.compute = spec::DType::f32;
    spec.overlap.prefetch = 0;
    spec.tiers.activations = Home{0, 1, 0};
    spec.tiers.optimizer = Home{0, 0, 1};
    expect_no_less_than_the_whole(spec, 1.2, 1.2);
}

TEST(ReducedRun, OfAPipelineSomeStagesStandForOthers) {
    auto spec = deep(64, 16);
    spec.parallel.stages = 16;
    spec.parallel.data = 1;
    spec.parallel.ranks_per_node = 1;
    spec.sharding.sum_group = 1;
    spec.train.micro_batches = 40;
    spec.train.global_batch = 80;
    const auto plan = plan_run(spec);

    EXPECT_EQ(plan.accuracy_note, "from 4 of 16 stages: no other stage needs more");
    std::int64_t max = 0;
    for (int rank = 0; rank < 16; ++rank) {
        max = std::max(max, bytes_of_rank(spec, rank)[0]);
    }
    EXPECT_GE(plan.footprint.needed[0], max);
    EXPECT_EQ(plan.footprint.needed[0], max) << "the stages that need most are built";
}

/// A search builds fewer layers of each stage than a plan does.
TEST(ReducedRun, OfDeepStagesIsNearTheWhole) {
    auto spec = deep(400, 4);
    spec.parallel.stages = 4;
    spec.parallel.data = 1;
    spec.parallel.ranks_per_node = 1;
    spec.sharding.sum_group = 1;
    spec.train.micro_batches = 10;
    spec.train.global_batch = 20;
    for (const auto kind : {spec::RecomputeKind::none, spec::RecomputeKind::full}) {
        spec.recompute.kind = kind;
        std::map<int, TierBytes> exact_of_rank;
        for (const auto which : {PlannedRanks::several, PlannedRanks::several_in_search}) {
            const auto plan = plan_run(spec, {}, which);
            EXPECT_NE(plan.accuracy_note, "");
            for (const auto& stage : plan.stages) {
                const auto rank = stage.program.rank;
                if (!exact_of_rank.contains(rank)) {
                    exact_of_rank[rank] = bytes_of_rank(spec, rank);
                }
                const auto& exact = exact_of_rank[rank];
                EXPECT_GE(stage.rank_bytes[0], exact[0])
                    << "stage " << stage.stage << ", " << plan.accuracy_note;
                EXPECT_LE(static_cast<double>(stage.rank_bytes[0]), 1.03 * static_cast<double>(exact[0]))
                    << "stage " << stage.stage << ", " << plan.accuracy_note;
            }
        }
    }
}

/// Layers that repeat are added up, so only holes and rounding of shares are estimated.
TEST(ReducedRun, OfEqualLayersIsWithinThreePercentOnTheDevice) {
    for (const std::int64_t layers : {280, 600}) {
        auto spec = deep(layers);
        expect_no_less_than_the_whole(spec, 1.03, 1.03);
        spec.recompute = {spec::RecomputeKind::full, 1};
        expect_no_less_than_the_whole(spec, 1.03, 1.03);
        spec.tiers.gradients = spec.tiers.optimizer = Home{0, 1, 0};
        spec.sharding.reduce = spec::ReducePlan::each_microbatch;
        expect_no_less_than_the_whole(spec, 1.03, 1.03);
    }
}

TEST(ReducedRun, SaysWhatItStandsFor) {
    const auto text = memory_report(deep(10000)).table;
    EXPECT_NE(text.find("\n  planned from 128 of 10,000 layers: may be up to 3 % too high on the device, and "
                        "a fifth on the "
                        "host\n"),
              std::string::npos)
        << text;
    auto spec = deep(10000);
    spec.tiers.parameters = Home{0, 1, 0};
    spec.tiers.tiles = {{.match = "*", .in = 1, .out = 4096}};
    EXPECT_EQ(accuracy_note(shortened(spec, Size::of_plan), spec, 1),
              "from 64 of 10,000 layers and with weights in 32 tiles instead of 4,096: may be up to a fifth "
              "too high");
}

/// Regression: with thousands of ranks, the blocks of their collectives were most of a program.
TEST(ReducedRun, DoesNotGrowWithTheRanks) {
    auto spec = deep(4, 8192);
    spec.sharding = {8192, 8192, 8192, 0, spec::ReducePlan::each_microbatch, 8192};
    const auto program =
        schedule::build_placed(spec, schedule::ModelLayout{spec, 0}, schedule::Variant::train);
    std::size_t blocks = 0;
    for (const auto& op : program.ops) {
        blocks += op.blocks.size();
    }
    EXPECT_EQ(blocks, 0U);
    EXPECT_EQ(program.groups.front().size(), 8192);
}

}  // namespace
}  // namespace ziggurat::plan
