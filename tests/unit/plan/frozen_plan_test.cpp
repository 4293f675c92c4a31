/// Plans of pipelines whose stages train different parts, or nothing.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "layout/mesh.hpp"
#include "plan/layouts/layout_search.hpp"
#include "plan/plan_run.hpp"
#include "plan/planned_time.hpp"
#include "plan/simulator/pipeline_time.hpp"
#include "plan/stage_kinds.hpp"
#include "schedule/model_layout.hpp"
#include "schedule/passes/optimizer_pass.hpp"
#include "tests/support/random/random_spec.hpp"
#include "tests/support/random/spec_coverage.hpp"
#include "tests/support/random/spec_variants.hpp"
#include "tests/support/random/trained_part.hpp"
#include "tests/support/simulated_ranks.hpp"
#include "tests/unit/plan/two_nodes.hpp"
#include "tests/unit/schedule/small_spec.hpp"

namespace ziggurat::plan {
namespace {

using spec::PipelineSchedule;

/// Returns a pipeline of stages with two layers each.
spec::RunSpec pipeline(int stages, std::vector<std::string> only) {
    auto spec = test::small_spec("llama");
    spec.model.layers = 2 * stages;
    spec.parallel.stages = spec.parallel.ranks = spec.parallel.ranks_per_node = stages;
    spec.parallel.stage_layers.assign(static_cast<std::size_t>(stages), 2);
    spec.train.only = std::move(only);
    return spec;
}

TEST(FrozenPlan, OfAStageWithoutDeferredProductsCountsNoTimeForThem) {
    const StageSlots slots{.forward = {1}, .backward = {2}};
    const std::vector<StageSlots> stages(2, slots);
    auto with_zeros = stages;
    with_zeros[1].backward_weight = {0};
    const schedule::Pipeline zero_bubble{PipelineSchedule::zero_bubble, 2, 1, 4};

    EXPECT_EQ(pipeline_times(zero_bubble, stages).step_seconds,
              pipeline_times(zero_bubble, with_zeros).step_seconds);
}

TEST(FrozenPlan, DistinguishesStagesByTheLayersThatTheyTrain) {
    const auto kinds = [](const std::vector<std::string>& only) {
        return stages_of_each_kind(pipeline(8, only));
    };
    using Stages = std::vector<int>;
    EXPECT_EQ(kinds({}), (Stages{0, 1, 7}));
    EXPECT_EQ(kinds({"*.mlp.*"}), (Stages{0, 1, 7}));
    EXPECT_EQ(kinds({"head.*"}), (Stages{0, 1, 7}));
    // Stages 1 to 4 run forward only; stage 6 passes gradients on.
    EXPECT_EQ(kinds({"layers.10.*"}), (Stages{0, 1, 5, 6, 7}));
    EXPECT_EQ(kinds({"layers.4.*", "layers.9.mlp.down.weight"}), (Stages{0, 1, 2, 3, 4, 7}));
}

TEST(FrozenPlan, BuildsTheStagesThatTrainMoreThanTheStagesBeforeThem) {
    const auto standing = standing_stages(pipeline(12, {"layers.14.*"}), false);

    for (const int stage : {7, 8}) {
        EXPECT_EQ(standing.like[static_cast<std::size_t>(stage)], stage);
    }
    EXPECT_EQ(standing.like[10], standing.like[9]) << "one stage represents those that train nothing";
}

TEST(FrozenPlan, CountsTheUpdatesOfTheOnlyStageThatTrains) {
    const auto spec = pipeline(8, {"layers.10.*"});
    const auto rank = layout::Mesh{spec.parallel}.neighbour(spec::Axis::pipeline, 0, 5);
    const schedule::ModelLayout model{spec, rank};

    EXPECT_EQ(max_updated_elements(spec), schedule::optimizer_chunks(spec, model).elements());
}

TEST(FrozenPlan, SearchesLayoutsIfOneLayerIsTrained) {
    const auto machine = test::machine_of_two_ranks();
    for (const auto& only : std::vector<std::vector<std::string>>{
             {"layers.3.*"}, {"layers.0.*"}, {"layers.2.mlp.down.weight", "head.*"}, {"embedding.*"}}) {
        auto spec = test::run_on_two_nodes("llama");
        spec.train.only = only;

        const auto found = search_layouts(spec, machine);

        EXPECT_FALSE(found.best.empty()) << only.front();
        for (const auto& layout : found.best) {
            EXPECT_GT(layout.time.step_seconds, 0) << only.front();
        }
    }
}

/// Returns a random run of several stages that trains a part of the model, with all schedules in turn.
spec::RunSpec random_pipeline(std::uint64_t seed) {
    auto spec = test::random_spec(seed, {.max_ranks = 8, .stages_differ = true, .fates = true});
    if (spec.parallel.stages > 1 && seed % 4 == 0) {
        spec = test::without_flush(std::move(spec));
    }
    test::Draw draw{seed};
    spec.train.only = test::draw_trained_part(draw, spec.model);
    spec.parallel.ranks_per_node = spec.parallel.ranks;
    return spec;
}

TEST(FrozenPlan, HasATimeAndTheMemoryOfEachStage) {
    const auto machine = test::machine_of_two_ranks();
    const auto count = test::count_from_environment("ZIGGURAT_SPECS", 200) / 8;
    for (std::int64_t seed = 1; seed <= count; ++seed) {
        const auto spec = random_pipeline(static_cast<std::uint64_t>(seed));
        SCOPED_TRACE("seed " + std::to_string(seed) + ": " + test::described(spec));

        const auto time = planned_time(spec, machine);
        EXPECT_TRUE(std::isfinite(time.step_seconds) && time.step_seconds > 0) << time.step_seconds;

        const auto planned = plan_run(spec, machine).footprint.needed[0];
        for (int stage = 0; stage < spec.parallel.stages; ++stage) {
            const auto rank = layout::Mesh{spec.parallel}.neighbour(spec::Axis::pipeline, 0, stage);
            EXPECT_LE(bytes_of_rank(spec, rank)[0], planned) << "stage " << stage;
        }
    }
}

}  // namespace
}  // namespace ziggurat::plan
