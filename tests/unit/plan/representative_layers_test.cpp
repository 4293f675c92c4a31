#include "plan/representative_layers.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "schedule/model_layout.hpp"
#include "tests/unit/schedule/small_spec.hpp"

namespace ziggurat::plan {
namespace {

// The same number of layers is left out of each stage, so that the order of their memory stays the same.
TEST(RepresentativeLayers, LeavesTheSameNumberOutOfEachNamedStage) {
    auto spec = test::small_spec("gpt2");
    spec.model.layers = 60;
    spec.parallel.stages = spec.parallel.ranks = 3;
    spec.parallel.stage_layers = {17, 24, 19};

    const RepresentativeLayers sample{spec, 18};
    const auto made = sample.of(spec);

    ASSERT_FALSE(sample.is_whole());
    const auto& layers = made.parallel.stage_layers;
    EXPECT_EQ(std::accumulate(layers.begin(), layers.end(), std::int64_t{0}), made.model.layers);
    EXPECT_EQ(layers[1] - layers[0], 7);
    EXPECT_EQ(layers[2] - layers[0], 2);
    EXPECT_EQ(std::ssize(schedule::ModelLayout(made, 1).units), layers[1]);
}

TEST(RepresentativeLayers, KeepsAllLayersIfOnlySomeHaveAWindow) {
    auto spec = test::small_spec("mistral");
    spec.model.layers = 60;
    spec.model.window = 4;
    EXPECT_FALSE((RepresentativeLayers{spec, 18}.is_whole()));

    spec.model.full_attention_interval = 4;
    const RepresentativeLayers sample{spec, 18};
    EXPECT_TRUE(sample.is_whole());
    EXPECT_FALSE(sample.are_identical());
    EXPECT_EQ(RepresentativeLayers::one_of_each(spec).size(), 60);

    spec.model.window = spec.data.seq;
    EXPECT_FALSE((RepresentativeLayers{spec, 18}.is_whole())) << "no sequence reaches the window";
}

}  // namespace
}  // namespace ziggurat::plan
