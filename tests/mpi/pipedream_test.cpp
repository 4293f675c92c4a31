/// Pipelines without a flush: the same bits with any sharding, and class B on other layouts.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "spec/weight_versions.hpp"
#include "tests/support/class_b.hpp"
#include "tests/support/device/test_processors.hpp"
#include "tests/support/made_up_pairs.hpp"
#include "tests/support/rank_test.hpp"
#include "tests/support/scratch_folder.hpp"
#include "tests/support/tiny_training.hpp"

namespace ziggurat::train {
namespace {

using spec::ReducePlan;
using spec::RunSpec;

constexpr std::int64_t steps = 6;

struct Layout {
    int stages = 2;
    int tensor = 1;
    int data = 1;
    std::int64_t microbatches = 1;
    bool has_sequence = false;

    int ranks() const { return stages * tensor * data; }
    std::string text() const {
        return fmt::format("{} stages, {} tensor ranks, {} data ranks, {} micro-batches", stages, tensor,
                           data, microbatches);
    }
};

std::vector<Layout> layouts() {
    std::vector<Layout> fitting;
    for (const auto& layout :
         {Layout{2, 1, 1, 1}, Layout{2, 1, 1, 3}, Layout{3, 1, 1, 1}, Layout{3, 1, 1, 2}, Layout{4, 1, 1, 1},
          Layout{4, 1, 1, 2}, Layout{2, 2, 1, 2}, Layout{2, 1, 2, 1}, Layout{2, 1, 2, 3},
          Layout{2, 2, 1, 1, true}, Layout{3, 2, 1, 2, true}, Layout{3, 1, 2, 1}, Layout{2, 1, 3, 2}}) {
        if (layout.ranks() == test::world().size()) {
            fitting.push_back(layout);
        }
    }
    return fitting;
}

RunSpec run_of(const Layout& layout, const std::string& family = "llama") {
    auto run = test::tiny_run(family, layout.data, 2, layout.microbatches);
    run.model.layers = 2 * layout.stages + 1;
    run.model.tie_embeddings = false;
    run.data.seq = layout.has_sequence ? 10 : 11;
    run.train.steps = steps;
    run.optimizer.clip = spec::ClipPolicy::off;
    run.parallel.stages = layout.stages;
    run.parallel.tensor = layout.tensor;
    run.parallel.sequence = layout.has_sequence;
    run.parallel.ranks = run.parallel.ranks_per_node = layout.ranks();
    run.parallel.pipeline_schedule = spec::PipelineSchedule::pipedream;
    return run;
}

void set_zero(RunSpec& run, int zero) {
    const int data = run.parallel.data;
    run.sharding.optimizer = zero >= 1 ? data : 1;
    run.sharding.gradients = zero >= 2 ? data : 1;
    run.sharding.parameters = zero >= 3 ? data : 1;
}

struct Setting {
    const char* name;
    std::function<void(RunSpec&)> apply;
};

/// Tiles add the gradients of inputs in another order than whole products.
const std::vector<spec::TileRule> tiles = {{.match = "mlp.*", .in = 1, .out = 2}};

std::vector<Setting> settings() {
    using spec::RecomputeKind;
    return {
        {"ZeRO 1", [](RunSpec& run) { set_zero(run, 1); }},
        {"ZeRO 2, selective",
         [](RunSpec& run) {
             set_zero(run, 2);
             run.recompute.kind = RecomputeKind::selective;
         }},
        {"ZeRO 3, full",
         [](RunSpec& run) {
             set_zero(run, 3);
             run.recompute = {RecomputeKind::full, 2};
             run.overlap.prefetch = 2;
         }},
        {"state on the host",
         [](RunSpec& run) {
             run.tiers.parameters = run.tiers.gradients = run.tiers.optimizer = {0, 1, 0};
             run.tiers.chunk_elements = 4096;
             set_zero(run, 2);
         }},
        {"state in three tiers",
         [](RunSpec& run) {
             run.tiers.parameters = run.tiers.gradients = run.tiers.optimizer = {0.25, 0.35, 0.4};
             run.tiers.chunk_elements = 4096;
             run.tiers.nvme_block_bytes = 8192;
             run.overlap.prefetch = 1;
             set_zero(run, 3);
         }},
        {"chunks that all stay on the device",
         [](RunSpec& run) {
             run.tiers.parameters = run.tiers.gradients = run.tiers.optimizer = {0, 1, 0};
             run.tiers.movement = spec::Movement::chunks;
             run.tiers.chunk_elements = 4096;
             run.overlap.prefetch = 1;
             set_zero(run, 3);
         }},
        {"chunks in three tiers, in free memory",
         [](RunSpec& run) {
             run.tiers.parameters = run.tiers.gradients = run.tiers.optimizer = {0.25, 0.35, 0.4};
             run.tiers.movement = spec::Movement::chunks;
             run.tiers.device_budget_bytes = 1;
             run.tiers.chunk_elements = 4096;
             run.tiers.nvme_block_bytes = 8192;
         }},
        {"embedding on the host",
         [](RunSpec& run) {
             run.tiers.embedding_on_host = true;
             set_zero(run, 2);
         }},
        {"activations on the host",
         [](RunSpec& run) {
             run.tiers.activations = {0, 1, 0};
             run.overlap.prefetch = 1;
         }},
        {"activations in three tiers, selective",
         [](RunSpec& run) {
             run.tiers.activations = {0.3, 0.3, 0.4};
             run.tiers.nvme_block_bytes = 8192;
             run.recompute.kind = RecomputeKind::selective;
             set_zero(run, 2);
         }},
        {"swapped activations",
         [](RunSpec& run) {
             run.recompute.fates = {{"mlp.up", spec::ActivationFate::host},
                                    {"qkv", spec::ActivationFate::nvme}};
             run.tiers.nvme_block_bytes = 8192;
         }},
        {"parameters on NVMe, in tiles",
         [](RunSpec& run) {
             run.tiers.parameters = {0, 0, 1};
             run.tiers.tiles = tiles;
             run.tiers.nvme_block_bytes = 8192;
             run.tiers.nvme_verify = true;
             set_zero(run, 3);
         }},
        {"parameters on device and host, in tiles",
         [](RunSpec& run) {
             run.tiers.parameters = {0.4, 0.6, 0};
             run.tiers.chunk_elements = 4096;
             run.tiers.tiles = tiles;
             set_zero(run, 3);
         }},
    };
}

/// Returns the run of the same micro-batches on one rank for each stage.
RunSpec one_rank_for_each_stage(RunSpec run) {
    run.train.micro_batch *= run.parallel.data;
    run.parallel.data = run.parallel.tensor = 1;
    run.parallel.sequence = false;
    run.parallel.ranks = run.parallel.ranks_per_node = run.parallel.stages;
    run.sharding = {};
    return run;
}

TEST(Pipedream, GivesTheSameBitsWithAnyShardingHomeAndRecomputation) {
    const test::ScratchFolder folder;
    for (const auto& layout : layouts()) {
        for (const auto reduce : {ReducePlan::at_end, ReducePlan::each_microbatch}) {
            auto plain = run_of(layout);
            plain.tiers.nvme_paths = {folder.path()};
            plain.sharding.reduce = reduce;
            const auto whole = test::train_tiny(plain, test::world(), test::Keep::nothing);
            plain.tiers.tiles = tiles;
            const auto tiled = test::train_tiny(plain, test::world(), test::Keep::nothing);
            plain.tiers.tiles = {};
            EXPECT_EQ(std::ssize(whole.losses), steps);
            for (const auto& setting : settings()) {
                SCOPED_TRACE(layout.text() + ": " + setting.name);
                auto run = plain;
                setting.apply(run);

                const auto ours = test::train_tiny(run, test::world(), test::Keep::nothing);
                const auto& expected = run.tiers.tiles.empty() ? whole : tiled;

                EXPECT_EQ(ours.losses, expected.losses);
                EXPECT_EQ(ours.norms, expected.norms);
                EXPECT_EQ(ours.weights_hash, expected.weights_hash);
                EXPECT_EQ(ours.average_hash, expected.average_hash);
                EXPECT_EQ(ours.evaluated, expected.evaluated);
            }
        }
    }
}

TEST(Pipedream, TrainsTheSameWithTensorAndDataRanks) {
    for (const auto& layout : layouts()) {
        // With several micro-batches, data ranks give their samples other micro-batches, and so other
        // versions.
        if (layout.ranks() == layout.stages || (layout.data > 1 && layout.microbatches > 1)) {
            continue;
        }
        const auto run = run_of(layout);
        const auto ours = test::train_tiny(run, test::world(), test::Keep::tensors);
        const bool is_one = test::world().rank() < layout.stages;
        const auto group = test::world().group().split(is_one ? 0 : 1);
        if (!is_one) {
            continue;
        }
        const auto expected =
            test::train_tiny(one_rank_for_each_stage(run), test::world().in(group), test::Keep::tensors);
        EXPECT_EQ(test::class_b_difference(ours, expected), "") << layout.text();
    }
}

/// Compares losses and norms with those of 1F1B. With constant weights, all versions are equal.
void expect_those_of_1f1b(RunSpec run, const std::string& what) {
    run.optimizer.lr = 0;
    const auto ours = test::train_tiny(run, test::world(), test::Keep::nothing);
    run.parallel.pipeline_schedule = spec::PipelineSchedule::one_f_one_b;
    const auto expected = test::train_tiny(run, test::world(), test::Keep::nothing);

    EXPECT_EQ(ours.losses, expected.losses) << what;
    EXPECT_EQ(ours.norms, expected.norms) << what;
}

TEST(Pipedream, DrawsTheDropoutOfTheStepOfEachMicroBatch) {
    for (const auto& layout : layouts()) {
        for (const auto recompute : {spec::RecomputeKind::none, spec::RecomputeKind::full}) {
            auto run = run_of(layout, "gpt2");
            ASSERT_GT(run.model.dropout, 0);
            run.recompute.kind = recompute;
            expect_those_of_1f1b(run, layout.text());
        }
    }
}

TEST(Pipedream, ComparesThePairsOfEachMicroBatch) {
    for (const auto& layout : layouts()) {
        for (const auto kind : {spec::ObjectiveKind::dpo, spec::ObjectiveKind::ipo}) {
            expect_those_of_1f1b(test::with_pairs(run_of(layout), kind), layout.text());
        }
    }
}

TEST(Pipedream, TrainsOnGpusAsOnTheHost) {
    if (test::device_kind_for_tests() != spec::DeviceKind::cuda) {
        GTEST_SKIP() << "ZIGGURAT_TEST_DEVICE is not cuda";
    }
    for (const auto& layout : layouts()) {
        auto run = run_of(layout);
        const auto ours = test::train_tiny(run, test::world(), test::Keep::tensors);
        run.tiers.device = spec::DeviceKind::host;
        const auto expected = test::train_tiny(run, test::world(), test::Keep::tensors);

        EXPECT_EQ(test::class_b_difference(ours, expected), "") << layout.text();
        EXPECT_NE(ours.weights_hash, expected.weights_hash) << "a GPU has its own bits";
    }
}

// Without it, the tests above would compare ordinary trainings.
TEST(Pipedream, DiffersFrom1F1BFromTheStepWithOlderWeightsOn) {
    for (const auto& layout : layouts()) {
        auto run = run_of(layout);
        const auto ours = test::train_tiny(run, test::world(), test::Keep::nothing);
        run.parallel.pipeline_schedule = spec::PipelineSchedule::one_f_one_b;
        const auto other = test::train_tiny(run, test::world(), test::Keep::nothing);

        EXPECT_EQ(ours.losses.front(), other.losses.front());
        EXPECT_NE(ours.losses.back(), other.losses.back()) << layout.text();
        EXPECT_NE(ours.weights_hash, other.weights_hash) << layout.text();
    }
}

}  // namespace
}  // namespace ziggurat::train
