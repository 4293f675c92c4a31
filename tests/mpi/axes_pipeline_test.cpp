/// Pipelines: against one rank with the whole work (class B), and against each other (class A).
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "layout/state_kinds.hpp"
#include "spec/stage_state.hpp"
#include "tests/support/class_b.hpp"
#include "tests/support/rank_test.hpp"
#include "tests/support/scratch_folder.hpp"
#include "tests/support/tiny_training.hpp"

namespace ziggurat::train {
namespace {

using spec::PipelineSchedule;
using spec::ReducePlan;
using test::Keep;
using test::TinyOutcome;

/// One layout of a model over the ranks.
struct Layout {
    int stages = 1;
    PipelineSchedule schedule = PipelineSchedule::one_f_one_b;
    int chunks = 1;
    int microbatches = 1;
    int tensor = 1;
    int data = 1;
    int zero = 0;

    int ranks() const { return stages * tensor * data; }
    std::string text() const {
        return std::to_string(stages) + " stages, schedule " + std::to_string(static_cast<int>(schedule)) +
               ", " + std::to_string(chunks) + " chunks, " + std::to_string(microbatches) +
               " micro-batches, tensor " + std::to_string(tensor) + ", data " + std::to_string(data) +
               ", zero " + std::to_string(zero);
    }
};

/// A model with odd sizes that two tensor ranks divide.
struct Model {
    std::string family;
    bool is_tied;
    std::int64_t layers;
};

/// Returns a run of `samples` in micro-batches of one, with the layout's number of micro-batches.
spec::RunSpec run_of(const Model& model, const Layout& layout) {
    auto run = test::tiny_run(model.family, layout.data, 1, layout.microbatches);
    run.model.tie_embeddings = model.is_tied;
    run.model.layers = model.layers;
    run.parallel.stages = layout.stages;
    run.parallel.pipeline_schedule = layout.schedule;
    run.parallel.chunks_per_stage = layout.chunks;
    run.parallel.tensor = layout.tensor;
    run.parallel.ranks = run.parallel.ranks_per_node = layout.ranks();
    run.sharding.optimizer = layout.zero >= 1 ? layout.data : 1;
    run.sharding.gradients = layout.zero >= 2 ? layout.data : 1;
    run.sharding.parameters = layout.zero >= 3 ? layout.data : 1;
    return run;
}

/// Returns every schedule with stages only, then with other axes.
///
/// The numbers of micro-batches are below, equal to and above the number of stages, divisible and not.
std::vector<Layout> layouts() {
    constexpr auto gpipe = PipelineSchedule::gpipe;
    constexpr auto in_turn = PipelineSchedule::one_f_one_b;
    constexpr auto interleaved = PipelineSchedule::interleaved;
    constexpr auto zero_bubble = PipelineSchedule::zero_bubble;
    return {
        {2, gpipe, 1, 1},
        {2, gpipe, 1, 5},
        {2, in_turn, 1, 1},
        {2, in_turn, 1, 4},
        {2, in_turn, 1, 7},
        {2, interleaved, 2, 1},
        {2, interleaved, 2, 3},
        {2, interleaved, 2, 6},
        {2, zero_bubble, 1, 3},
        {2, zero_bubble, 2, 5},
        {3, gpipe, 1, 4},
        {3, in_turn, 1, 2},
        {3, in_turn, 1, 7},
        {3, interleaved, 2, 2},
        {3, interleaved, 2, 5},
        {3, interleaved, 2, 6},
        {3, zero_bubble, 1, 7},
        {3, zero_bubble, 2, 1},
        {3, zero_bubble, 2, 6},
        {5, gpipe, 1, 3},
        {5, in_turn, 1, 6},
        {5, interleaved, 2, 7},
        {5, zero_bubble, 1, 7},
        {2, in_turn, 1, 3, 1, 2, 0},
        {2, in_turn, 1, 3, 1, 2, 1},
        {2, gpipe, 1, 3, 1, 2, 2},
        {2, interleaved, 2, 3, 1, 2, 3},
        {2, interleaved, 2, 3, 2, 1},
        {3, in_turn, 1, 2, 2, 1},
        {3, interleaved, 2, 4, 1, 2, 3},
        {2, zero_bubble, 1, 3, 1, 2, 3},
        {2, zero_bubble, 2, 3, 1, 2, 2},
        {3, zero_bubble, 1, 4, 2, 1},
    };
}

class Pipelines : public ::testing::TestWithParam<std::tuple<std::string, bool>> {
  protected:
    Model model(std::int64_t layers) const {
        return {std::get<0>(GetParam()), std::get<1>(GetParam()), layers};
    }
};

TEST_P(Pipelines, TrainAsOneRankDoes) {
    const comm::Communicator myself = test::world().group().split(test::world().rank());
    std::map<std::tuple<std::int64_t, std::int64_t>, TinyOutcome> alone;
    for (const auto& layout : layouts()) {
        if (layout.ranks() != test::world().size()) {
            continue;
        }
        SCOPED_TRACE(layout.text());
        const auto spread = model(layout.stages * layout.chunks + layout.stages - 1);
        auto ours = run_of(spread, layout);
        ours.train.steps = 8;
        const auto key = std::tuple{spread.layers, ours.train.global_batch};
        if (!alone.contains(key)) {
            auto run = run_of(spread, {});
            run.train.steps = 8;
            run.train.global_batch = run.train.micro_batch = ours.train.global_batch;
            alone[key] = test::train_tiny(run, test::world().in(myself), Keep::tensors);
        }
        test::expect_class_b(test::train_tiny(ours, test::world(), Keep::tensors), alone.at(key));
    }
}

INSTANTIATE_TEST_SUITE_P(Families,
                         Pipelines,
                         ::testing::Combine(::testing::Values("gpt2", "llama"), ::testing::Bool()),
                         [](const auto& made) {
                             return std::get<0>(made.param) + (std::get<1>(made.param) ? "_tied" : "_untied");
                         });

void expect_same_bits(const TinyOutcome& ours, const TinyOutcome& expected) {
    EXPECT_EQ(ours.losses, expected.losses);
    EXPECT_EQ(ours.norms, expected.norms);
    EXPECT_EQ(ours.weights_hash, expected.weights_hash);
    EXPECT_EQ(ours.average_hash, expected.average_hash);
    EXPECT_EQ(ours.evaluated, expected.evaluated);
}

TinyOutcome train(const spec::RunSpec& run) {
    return test::train_tiny(run, test::world(), Keep::nothing);
}

/// Returns the layouts whose bits are compared, for the number of ranks of the test.
std::vector<Layout> degrees() {
    constexpr auto in_turn = PipelineSchedule::one_f_one_b;
    switch (test::world().size()) {
        case 2:
            return {{2, in_turn, 1, 3}};
        case 3:
            return {{3, in_turn, 1, 4}};
        case 4:
            return {{2, in_turn, 1, 3, 2}, {2, in_turn, 1, 3, 1, 2, 0}};
        case 5:
            return {{5, in_turn, 1, 3}};
        case 6:
            return {{3, in_turn, 1, 2, 1, 2, 0}};
        default:
            return {};
    }
}

class PipelineBits : public ::testing::TestWithParam<std::string> {
  protected:
    spec::RunSpec run(const Layout& layout) const {
        return run_of({GetParam(), true, 2 * layout.stages + 1}, layout);
    }
};

/// Layers are on other ranks, so the exact sums of norms over tensors are computed on different ranks.
TEST_P(PipelineBits, AreThoseOfAnySchedule) {
    for (const auto& layout : degrees()) {
        SCOPED_TRACE(layout.text());
        auto run = this->run(layout);
        const auto expected = train(run);
        run.parallel.pipeline_schedule = PipelineSchedule::gpipe;
        expect_same_bits(train(run), expected);
        run.parallel.pipeline_schedule = PipelineSchedule::interleaved;
        run.parallel.chunks_per_stage = 2;
        expect_same_bits(train(run), expected);
    }
}

TEST_P(PipelineBits, AreThoseOfAnyRecomputationAndSharding) {
    for (const auto& layout : degrees()) {
        for (const auto plan : {ReducePlan::at_end, ReducePlan::each_microbatch}) {
            auto run = this->run(layout);
            run.sharding.reduce = plan;
            const auto expected = train(run);
            for (const auto kind : {spec::RecomputeKind::selective, spec::RecomputeKind::full}) {
                for (const int zero : {1, 2, 3}) {
                    SCOPED_TRACE(layout.text() + ", now zero " + std::to_string(zero));
                    run.recompute.kind = kind;
                    run.recompute.every = zero == 3 ? 2 : 1;
                    run.overlap.prefetch = zero;
                    run.sharding.optimizer = layout.data;
                    run.sharding.gradients = zero >= 2 ? layout.data : 1;
                    run.sharding.parameters = zero >= 3 ? layout.data : 1;
                    run.parallel.pipeline_schedule =
                        zero == 2 ? PipelineSchedule::gpipe : PipelineSchedule::interleaved;
                    run.parallel.chunks_per_stage = zero == 2 ? 1 : 2;
                    expect_same_bits(train(run), expected);
                }
            }
        }
    }
}

/// Layers on any stage, and parameters gathered for each pass or once per step.
TEST_P(PipelineBits, AreThoseOfAnySpreadOfLayersAndLeases) {
    for (const auto& layout : degrees()) {
        SCOPED_TRACE(layout.text());
        auto run = this->run(layout);
        const auto expected = train(run);
        run.parallel.stage_layers.assign(static_cast<std::size_t>(layout.stages), 1);
        run.parallel.stage_layers.back() = run.model.layers - layout.stages + 1;
        expect_same_bits(train(run), expected);
        std::swap(run.parallel.stage_layers.front(), run.parallel.stage_layers.back());
        run.sharding.parameters = run.sharding.gradients = run.sharding.optimizer = layout.data;
        run.sharding.leases = spec::LeaseSpan::step;
        expect_same_bits(train(run), expected);
        run.recompute.kind = spec::RecomputeKind::full;
        run.overlap.prefetch = 3;
        run.tiers.parameters = {0, 1, 0};
        run.tiers.chunk_elements = 4096;
        expect_same_bits(train(run), expected);
    }
}

TEST_P(PipelineBits, AreThoseOfAnyHome) {
    const test::ScratchFolder folder;
    constexpr spec::Home host{0, 1, 0};
    constexpr spec::Home nvme{0, 0, 1};
    constexpr spec::Home shares{0.25, 0.35, 0.4};
    for (const auto& layout : degrees()) {
        auto run = this->run(layout);
        run.sharding.reduce = ReducePlan::each_microbatch;
        run.tiers.chunk_elements = 4096;
        run.tiers.nvme_block_bytes = 8192;
        run.tiers.nvme_paths = {folder.path()};
        const auto expected = train(run);
        for (const auto& home : {host, nvme, shares}) {
            for (const auto schedule : {PipelineSchedule::one_f_one_b, PipelineSchedule::interleaved}) {
                SCOPED_TRACE(layout.text() + ", homes with " + std::to_string(home.nvme) + " on nvme");
                run.tiers.parameters = run.tiers.gradients = run.tiers.optimizer = home;
                run.tiers.activations = home;
                run.recompute.kind = spec::RecomputeKind::full;
                run.parallel.pipeline_schedule = schedule;
                run.parallel.chunks_per_stage = schedule == PipelineSchedule::interleaved ? 2 : 1;
                run.overlap.prefetch = run.parallel.chunks_per_stage;
                run.sharding.parameters = run.sharding.gradients = run.sharding.optimizer = layout.data;
                expect_same_bits(train(run), expected);
            }
        }
    }
}

/// Stages with individual layers, recomputation and homes.
TEST_P(PipelineBits, AreThoseOfAnyStages) {
    const test::ScratchFolder folder;
    constexpr spec::Home host{0, 1, 0};
    constexpr spec::Home shares{0.25, 0.35, 0.4};
    for (const auto& layout : degrees()) {
        SCOPED_TRACE(layout.text());
        auto run = this->run(layout);
        run.sharding.reduce = ReducePlan::each_microbatch;
        run.tiers.chunk_elements = 4096;
        run.tiers.nvme_block_bytes = 8192;
        run.tiers.nvme_paths = {folder.path()};
        const auto expected = train(run);
        run.parallel.stage_layers.assign(static_cast<std::size_t>(layout.stages), 1);
        run.parallel.stage_layers.back() = run.model.layers - layout.stages + 1;
        run.stages.assign(static_cast<std::size_t>(layout.stages), spec::general_state(run));
        run.stages.front().optimizer = host;
        run.stages.front().activations = host;
        run.stages.front().recompute.kind = spec::RecomputeKind::selective;
        run.stages.back().parameters = run.stages.back().gradients = run.stages.back().optimizer = shares;
        run.stages.back().recompute = {spec::RecomputeKind::full, 2};
        expect_same_bits(train(run), expected);
    }
}

TEST_P(PipelineBits, AreThoseOfTheSameTilesAnywhere) {
    for (const auto& layout : degrees()) {
        SCOPED_TRACE(layout.text());
        auto run = this->run(layout);
        run.tiers.chunk_elements = 4096;
        run.tiers.tiles = {{.match = "mlp.*", .in = 1, .out = 3},
                           {.match = "attention.q", .in = 1, .out = 2}};
        const auto expected = train(run);
        run.parallel.pipeline_schedule = PipelineSchedule::interleaved;
        run.parallel.chunks_per_stage = 2;
        run.sharding.parameters = run.sharding.gradients = run.sharding.optimizer = layout.data;
        run.recompute.kind = spec::RecomputeKind::full;
        run.tiers.optimizer = run.tiers.activations = {0, 1, 0};
        run.overlap.prefetch = 3;
        expect_same_bits(train(run), expected);
    }
}

INSTANTIATE_TEST_SUITE_P(Families, PipelineBits, ::testing::Values("gpt2", "llama"), [](const auto& made) {
    return made.param;
});

}  // namespace
}  // namespace ziggurat::train
