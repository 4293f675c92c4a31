/// Class B of resuming: a training that resumes repeatedly with other ranks and layouts has the same
/// loss curve.
///
/// It is compared sample by sample with a training without interruptions. ZIGGURAT_PAIRS=N draws N random
/// pairs of layouts.
#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "comm/control.hpp"
#include "tests/support/norm_gap.hpp"
#include "tests/support/random/draw.hpp"
#include "tests/support/rank_test.hpp"
#include "tests/support/tiny_checkpoints.hpp"
#include "tests/support/tiny_training.hpp"

namespace ziggurat::train {
namespace {

using spec::ReducePlan;
using test::Keep;

/// Divisible by all layouts.
constexpr std::int64_t global_batch = 12;
constexpr std::int64_t steps = 20;

struct Layout {
    int data = 1;
    int parameters = 1, gradients = 1, optimizer = 1;
    std::int64_t micro_batch = 1;
    ReducePlan reduce = ReducePlan::at_end;
    bool is_async = true;
    int tensor = 1, stages = 1, chunks = 1;
    bool has_sequence = false;
    int rows = 1;          ///< rows of a grid of tensor ranks; `tensor` is then its columns
    bool is_cube = false;  ///< the data ranks are layers of a cube

    int ranks() const { return data * tensor * rows * stages; }
    std::string text() const {
        return "data " + std::to_string(data) + " x tensor " + std::to_string(tensor) +
               (has_sequence ? " with sequence" : "") +
               (is_cube    ? " cubed"
                : rows > 1 ? " squared"
                           : "") +
               " x stages " + std::to_string(stages) + " of " + std::to_string(chunks) + " chunks, spans " +
               std::to_string(parameters) + " " + std::to_string(gradients) + " " +
               std::to_string(optimizer) + ", micro-batch " + std::to_string(micro_batch) +
               (is_async ? ", async" : ", sync");
    }
};

spec::RunSpec spread(const spec::RunSpec& training, const Layout& layout) {
    auto run = test::tiny_run(training.model.family, layout.data, layout.micro_batch,
                              global_batch / (layout.data * layout.rows) / layout.micro_batch);
    run.train.global_batch = global_batch;
    run.model = training.model;
    run.train.only = training.train.only;
    run.data.seq = training.data.seq;
    run.train.steps = steps;
    run.parallel.tensor = layout.tensor;
    run.parallel.tensor_rows = layout.rows;
    if (layout.is_cube) {
        run.parallel.tensor_mode = spec::TensorMode::three_d;
        run.parallel.tensor_depth = layout.rows;
    }
    run.parallel.sequence = layout.has_sequence;
    run.parallel.stages = layout.stages;
    run.parallel.chunks_per_stage = layout.chunks;
    if (layout.chunks > 1) {
        run.parallel.pipeline_schedule = spec::PipelineSchedule::interleaved;
    }
    run.parallel.ranks = run.parallel.ranks_per_node = layout.ranks();
    run.sharding.parameters = layout.parameters;
    run.sharding.gradients = layout.gradients;
    run.sharding.optimizer = layout.optimizer;
    run.sharding.reduce = layout.reduce;
    run.checkpoint.every = spec::Interval{.steps = 1000};
    run.checkpoint.is_async = layout.is_async;
    return run;
}

/// Trains with the layouts in turn on the first ranks of the test, `steps` steps in total, and compares
/// with one rank without interruptions. Collective: over all ranks of the test
void expect_one_curve(const spec::RunSpec& training, const std::vector<Layout>& layouts) {
    const auto& world = test::world();
    const test::SharedFolder folder{world};
    std::optional<test::TinyOutcome> alone;
    const auto myself = world.group().split(world.rank());
    if (world.rank() == 0) {
        alone = test::train_tiny(spread(training, {.micro_batch = 4}), world.in(myself), Keep::tensors);
    }
    const auto jobs = static_cast<std::int64_t>(layouts.size());
    std::int64_t before = 0;
    for (std::int64_t job = 0; job < jobs; ++job) {
        const auto& layout = layouts[static_cast<std::size_t>(job)];
        const auto last = steps * (job + 1) / jobs;
        const auto group = world.group().split(world.rank() < layout.ranks() ? 0 : 1);
        if (world.rank() < layout.ranks()) {
            SCOPED_TRACE("job " + std::to_string(job) + ": " + layout.text());
            auto run = spread(training, layout);
            run.run.dir = folder.file("run");
            run.run.resume = job == 0 ? spec::Resume::automatic : spec::Resume::must;
            const auto outcome = test::train_and_save(run, world.in(group),
                                                      job + 1 == jobs ? Keep::tensors : Keep::nothing, last);

            EXPECT_EQ(outcome.steps_before, before);
            EXPECT_EQ(outcome.saved_step, last);
            EXPECT_EQ(std::ssize(outcome.training.losses), last - before);
            for (std::int64_t step = before; alone && step < last; ++step) {
                const auto ours = outcome.training.losses[static_cast<std::size_t>(step - before)];
                EXPECT_NEAR(ours / alone->losses[static_cast<std::size_t>(step)], 1, 1e-5) << "step " << step;
            }
            if (alone && job + 1 == jobs) {
                test::SquaredGap gap;
                for (const auto& [name, values] : alone->weights) {
                    if (!test::is_key_bias(name)) {
                        gap += test::squared_gap(outcome.training.weights.at(name), values);
                    }
                }
                EXPECT_LE(gap.relative(), 1e-4);
            }
        }
        before = last;
        comm::barrier(world);
    }
}

/// True if there are more ranks than the layouts of a test without cubes have: a smaller entry runs it.
bool is_for_cubes() {
    return test::world().size() > 6;
}

TEST(Relayout, OfTenPairsKeepsTheCurve) {
    if (is_for_cubes()) {
        GTEST_SKIP() << "6 ranks are enough";
    }
    const std::vector<Layout> layouts{
        {6, 6, 6, 6, 1, ReducePlan::each_microbatch},         // ZeRO 3
        {1, 1, 1, 1, 4, ReducePlan::at_end, false},           // one rank
        {4, 2, 2, 4, 1, ReducePlan::by_span},                 // AMSP
        {3, 1, 3, 3, 2, ReducePlan::each_microbatch, false},  // ZeRO 2
        {6, 1, 2, 2, 1, ReducePlan::by_span},                 //
        {2, 2, 2, 2, 3, ReducePlan::each_microbatch},         // ZeRO 3
        {6, 2, 6, 6, 2, ReducePlan::each_microbatch},         //
        {4, 1, 1, 4, 3, ReducePlan::at_end},                  // ZeRO 1
        {6, 3, 3, 6, 1, ReducePlan::at_end, false},           //
        {1, 1, 1, 1, 12, ReducePlan::at_end},                 //
        {4, 4, 4, 4, 1, ReducePlan::each_microbatch},         // ZeRO 3
    };
    for (const std::string family : {"gpt2", "llama"}) {
        SCOPED_TRACE(family == "gpt2" ? "gpt2" : "llama");
        expect_one_curve(test::tiny_run(family, 1, 1, 1), layouts);
    }
}

/// Returns a run whose sizes 2, 3 and 4 tensor ranks divide, with layers for three stages of two
/// chunks.
///
/// It has fewer key-value heads than ranks.
spec::RunSpec training_of_axes(const std::string& family) {
    auto training = test::tiny_run(family, 1, 1, 1);
    training.model.layers = 6;
    training.model.hidden = 48;
    training.model.heads = 12;
    training.model.head_dim = 4;
    training.model.kv_heads = family == "llama" ? 1 : 12;
    training.model.ffn_hidden = 60;
    training.model.rotary_fraction = training.model.rotary_fraction < 1 ? 0.5 : 1;
    training.data.seq = 12;
    return training;
}

TEST(Relayout, OfTenPairsOfAllAxesKeepsTheCurve) {
    if (is_for_cubes()) {
        GTEST_SKIP() << "6 ranks are enough";
    }
    const auto each_microbatch = ReducePlan::each_microbatch;
    const std::vector<Layout> layouts{
        {.data = 2, .parameters = 2, .gradients = 2, .optimizer = 2, .reduce = each_microbatch, .tensor = 3},
        {.stages = 3, .chunks = 2},
        {.is_async = false, .tensor = 2, .stages = 2},
        {.data = 6, .optimizer = 6, .reduce = each_microbatch},
        {.tensor = 4, .has_sequence = true},
        {.micro_batch = 4},
        {.data = 2, .gradients = 2, .optimizer = 2, .micro_batch = 3, .reduce = each_microbatch, .stages = 2},
        {.tensor = 2, .stages = 3, .has_sequence = true},
        {.micro_batch = 2, .is_async = false, .tensor = 6},
        {.data = 3,
         .parameters = 3,
         .gradients = 3,
         .optimizer = 3,
         .reduce = each_microbatch,
         .stages = 2,
         .chunks = 2},
        {.data = 2, .tensor = 2},
    };
    for (const std::string family : {"gpt2", "llama"}) {
        SCOPED_TRACE(family.c_str());
        expect_one_curve(training_of_axes(family), layouts);
    }
}

TEST(Relayout, OfGridsKeepsTheCurve) {
    if (is_for_cubes()) {
        GTEST_SKIP() << "6 ranks are enough";
    }
    const std::vector<Layout> layouts{
        {.micro_batch = 3, .tensor = 2, .rows = 2},
        {.tensor = 2, .stages = 3, .has_sequence = true},
        {.micro_batch = 2, .is_async = false, .tensor = 2, .rows = 2},
        {.micro_batch = 4},
        {.tensor = 2, .rows = 2},
        {.data = 3, .parameters = 3, .gradients = 3, .optimizer = 3, .reduce = ReducePlan::each_microbatch},
    };
    for (const std::string family : {"gpt2", "llama"}) {
        SCOPED_TRACE(family.c_str());
        auto training = training_of_axes(family);
        training.model.kv_heads = family == "llama" ? 2 : 12;
        expect_one_curve(training, layouts);
    }
}

TEST(Relayout, OfCubesKeepsTheCurve) {
    if (!is_for_cubes()) {
        GTEST_SKIP() << "a cube has 8 ranks";
    }
    const Layout cube{.data = 2,
                      .parameters = 2,
                      .gradients = 2,
                      .optimizer = 2,
                      .micro_batch = 3,
                      .reduce = ReducePlan::each_microbatch,
                      .tensor = 2,
                      .rows = 2,
                      .is_cube = true};
    auto sync = cube;
    sync.micro_batch = 1;
    sync.is_async = false;
    const std::vector<Layout> layouts{
        cube, {.tensor = 2, .rows = 2}, sync, {.tensor = 2, .stages = 3, .has_sequence = true},
        cube, {.micro_batch = 4},
    };
    for (const std::string family : {"gpt2", "llama"}) {
        SCOPED_TRACE(family.c_str());
        auto training = training_of_axes(family);
        training.model.kv_heads = family == "llama" ? 2 : 12;
        expect_one_curve(training, layouts);
    }
}

Layout random_layout(test::Draw& draw, int max_ranks) {
    Layout layout;
    do {
        layout.data = draw.one_of<int>({1, 2, 3, 4, 6});
    } while (layout.data > max_ranks);
    layout.optimizer = draw.between_divisors(1, layout.data);
    layout.parameters = draw.between_divisors(1, layout.optimizer);
    layout.gradients = draw.chance(0.5) ? layout.parameters : layout.optimizer;
    layout.micro_batch = draw.between_divisors(1, static_cast<int>(global_batch) / layout.data);
    layout.reduce =
        draw.one_of<ReducePlan>({ReducePlan::at_end, ReducePlan::each_microbatch, ReducePlan::by_span});
    layout.is_async = draw.chance(0.5);
    return layout;
}

TEST(Relayout, OfRandomPairsKeepsTheCurve) {
    if (is_for_cubes()) {
        GTEST_SKIP() << "6 ranks are enough";
    }
    constexpr int pairs_at_a_time = 10;
    const char* asked = std::getenv("ZIGGURAT_PAIRS");
    const int pairs = asked != nullptr ? std::atoi(asked) : pairs_at_a_time;
    test::Draw draw{static_cast<std::uint64_t>(asked != nullptr ? pairs : 1)};
    for (int pair = 0; pair < pairs; pair += pairs_at_a_time) {
        std::vector<Layout> layouts;
        std::string text;
        for (int i = 0; i <= std::min(pairs_at_a_time, pairs - pair); ++i) {
            layouts.push_back(random_layout(draw, test::world().size()));
            text += "\n  " + layouts.back().text();
        }
        auto training = test::tiny_run(draw.chance(0.5) ? "gpt2" : "llama", 1, 1, 1);
        if (draw.chance(0.3)) {
            training.train.only = {"*.attention.*", "*norm*"};
        }
        SCOPED_TRACE("pairs from " + std::to_string(pair) + text);
        expect_one_curve(training, layouts);
    }
}

}  // namespace
}  // namespace ziggurat::train
