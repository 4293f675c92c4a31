/// Pipelines that defer gradients of weights give the bits of 1F1B with the same stages (class A).
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "layout/families/adapters.hpp"
#include "spec/stage_state.hpp"
#include "tests/support/all_cases.hpp"
#include "tests/support/rank_test.hpp"
#include "tests/support/scratch_folder.hpp"
#include "tests/support/tiny_training.hpp"

namespace ziggurat::train {
namespace {

using spec::ReducePlan;
using spec::RunSpec;
using test::TinyOutcome;

struct Layout {
    int stages = 2;
    int microbatches = 1;
    int tensor = 1;
    int data = 1;
    bool has_sequence = false;

    int ranks() const { return stages * tensor * data; }
    std::string text() const {
        return std::to_string(stages) + " stages, " + std::to_string(microbatches) +
               " micro-batches, tensor " + std::to_string(tensor) + ", data " + std::to_string(data) +
               (has_sequence ? ", sequence" : "");
    }
};

/// Returns layouts with fewer micro-batches than stages, the same number, and more.
std::vector<Layout> layouts() {
    std::vector<Layout> found;
    for (const auto& layout : {Layout{2, 1},
                               {2, 5},
                               {3, 2},
                               {3, 7},
                               {4, 3},
                               {4, 9},
                               {2, 3, 2},
                               {2, 3, 2, 1, true},
                               {2, 3, 1, 2},
                               {3, 4, 2},
                               {3, 5, 1, 2},
                               {2, 4, 2, 2},
                               {4, 5, 2, 1, true}}) {
        if (layout.ranks() == test::world().size()) {
            found.push_back(layout);
        }
    }
    return found;
}

/// A family, and the chunks per stage with zero_bubble: 2 is zero_bubble_v.
struct Case {
    std::string family;
    int chunks = 1;
};

/// Returns a run with layers of unequal numbers on the stages.
RunSpec run_of(const Case& tested, const Layout& layout) {
    const auto& family = tested.family;
    auto run = test::tiny_run(family, layout.data, 2, layout.microbatches);
    run.model.layers = 2 * layout.stages + 1;
    // With two chunks, both parts of a tied gradient are sums of one stage, in another order.
    run.model.tie_embeddings = run.model.tie_embeddings && tested.chunks == 1;
    run.data.seq = layout.has_sequence ? 10 : 11;
    run.parallel.stages = layout.stages;
    run.parallel.tensor = layout.tensor;
    run.parallel.sequence = layout.has_sequence;
    run.parallel.ranks = run.parallel.ranks_per_node = layout.ranks();
    return run;
}

void set_zero(RunSpec& run, int zero) {
    const int data = run.parallel.data;
    run.sharding.optimizer = zero >= 1 ? data : 1;
    run.sharding.gradients = zero >= 2 ? data : 1;
    run.sharding.parameters = zero >= 3 ? data : 1;
}

void set_homes(RunSpec& run, const spec::Home& home) {
    run.tiers.parameters = run.tiers.gradients = run.tiers.optimizer = run.tiers.activations = home;
    run.tiers.chunk_elements = 4096;
    run.tiers.nvme_block_bytes = 8192;
}

/// Settings that both schedules get.
struct Setting {
    const char* name;
    std::function<void(RunSpec&)> apply;
    bool is_for_all = false;  ///< also for layouts with few micro-batches or with sequence parallelism
};

std::vector<Setting> settings() {
    using spec::RecomputeKind;
    const spec::Home host{0, 1, 0};
    const spec::Home shares{0.25, 0.35, 0.4};
    return {
        {"no sharding", [](RunSpec&) {}, true},
        {"ZeRO 1, sums in each micro-batch",
         [](RunSpec& run) {
             set_zero(run, 1);
             run.sharding.reduce = ReducePlan::each_microbatch;
         }},
        {"ZeRO 2, selective",
         [](RunSpec& run) {
             set_zero(run, 2);
             run.sharding.reduce = ReducePlan::by_span;
             run.recompute.kind = RecomputeKind::selective;
         }},
        {"ZeRO 3, full",
         [](RunSpec& run) {
             set_zero(run, 3);
             run.recompute = {RecomputeKind::full, 2};
             run.overlap.prefetch = 2;
         }},
        {"ZeRO 3, parameters for a step",
         [](RunSpec& run) {
             set_zero(run, 3);
             run.sharding.leases = spec::LeaseSpan::step;
             run.precision.gradient = spec::DType::bf16;
         }},
        {"host", [=](RunSpec& run) { set_homes(run, host); }},
        {"three tiers, full",
         [=](RunSpec& run) {
             set_homes(run, shares);
             set_zero(run, 3);
             run.recompute.kind = RecomputeKind::full;
             run.sharding.reduce = ReducePlan::each_microbatch;
             run.overlap.prefetch = 1;
         },
         true},
        {"tiles",
         [](RunSpec& run) {
             run.tiers.chunk_elements = 4096;
             run.tiers.tiles = {{.match = "mlp.*", .in = 1, .out = 3},
                                {.match = "attention.q", .in = 1, .out = 2}};
             set_zero(run, 3);
         }},
        {"updates during backward",
         [](RunSpec& run) {
             set_zero(run, 1);
             run.overlap.optimizer_with_backward = true;
             run.optimizer.clip = spec::ClipPolicy::off;
         }},
        {"speculative updates",
         [=](RunSpec& run) {
             run.tiers.optimizer = host;
             run.overlap.optimizer_with_backward = true;
         }},
        {"delayed updates",
         [=](RunSpec& run) {
             run.tiers.optimizer = host;
             run.overlap.delayed_update = true;
             run.overlap.delayed_update_after = 1;
         }},
        {"adapters",
         [](RunSpec& run) {
             run.model.lora = {.rank = 3, .alpha = 5, .targets = {"attention.*", "mlp.down"}};
             run.train.only = layout::patterns_of_adapters();
             set_zero(run, 3);
         }},
        {"frozen",
         [](RunSpec& run) {
             run.train.only = {"layers.2.mlp.*", "*norm*", "layers.3.attention.out*"};
             run.recompute.kind = RecomputeKind::selective;
         }},
    };
}

constexpr std::array families{"gpt2", "llama", "olmo2"};

/// True if the case trains with the setting of that number.
///
/// Families take turns: each setting has two of three families with each number of chunks.
bool is_turn_of(const Case& tested, std::size_t setting) {
    const auto number = std::ranges::find(families, tested.family) - families.begin();
    return test::tries_all_cases() || (number + tested.chunks + setting) % 3 != 0;
}

class ZeroBubble : public ::testing::TestWithParam<Case> {};

TEST_P(ZeroBubble, GivesTheBitsOf1F1B) {
    const test::ScratchFolder folder;
    ASSERT_FALSE(layouts().empty());
    const auto all = settings();
    for (const auto& layout : layouts()) {
        const bool takes_all = layout.microbatches > layout.stages && !layout.has_sequence;
        for (std::size_t i = 0; i < all.size(); ++i) {
            const auto& setting = all[i];
            if (!setting.is_for_all && !(takes_all && is_turn_of(GetParam(), i))) {
                continue;
            }
            SCOPED_TRACE(layout.text() + ": " + setting.name);
            auto run = run_of(GetParam(), layout);
            run.tiers.nvme_paths = {folder.path()};
            setting.apply(run);
            const auto expected = test::train_tiny(run, test::world(), test::Keep::nothing);
            run.parallel.pipeline_schedule = spec::PipelineSchedule::zero_bubble;
            run.parallel.chunks_per_stage = GetParam().chunks;

            const auto ours = test::train_tiny(run, test::world(), test::Keep::nothing);

            EXPECT_EQ(ours.losses, expected.losses);
            EXPECT_EQ(ours.norms, expected.norms);
            EXPECT_EQ(ours.weights_hash, expected.weights_hash);
            EXPECT_EQ(ours.average_hash, expected.average_hash);
            if (GetParam().chunks == 1) {  // otherwise another stage has the head
                EXPECT_EQ(ours.evaluated, expected.evaluated);
            }
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Families,
                         ZeroBubble,
                         ::testing::Values(Case{"gpt2", 1},
                                           Case{"llama", 1},
                                           Case{"olmo2", 1},
                                           Case{"gpt2", 2},
                                           Case{"llama", 2},
                                           Case{"olmo2", 2}),
                         [](const auto& made) {
                             return made.param.family + (made.param.chunks == 2 ? "_v" : "");
                         });

}  // namespace
}  // namespace ziggurat::train
