#include "train/generate/draw_token.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <set>

namespace ziggurat::train {
namespace {

using testing::ElementsAre;

/// Probabilities 0.1, 0.4, 0.2 and 0.3.
const std::vector<float> logits{std::log(0.1F), std::log(0.4F), std::log(0.2F), std::log(0.3F)};

std::int32_t drawn(const Drawing& drawing, double random) {
    std::vector<double> weights(logits.size());
    return draw_token(logits, drawing, random, weights);
}

std::set<std::int32_t> all_drawn(const Drawing& drawing) {
    std::set<std::int32_t> found;
    for (int i = 0; i < 100; ++i) {
        found.insert(drawn(drawing, (i + 0.5) / 100));
    }
    return found;
}

TEST(DrawToken, FollowsTheProbabilities) {
    EXPECT_EQ(drawn({}, 0.05), 0);
    EXPECT_EQ(drawn({}, 0.45), 1);
    EXPECT_EQ(drawn({}, 0.65), 2);
    EXPECT_EQ(drawn({}, 0.95), 3);
}

TEST(DrawToken, TakesTheMostLikelyAtTemperatureZero) {
    EXPECT_THAT(all_drawn({.temperature = 0}), ElementsAre(1));
}

TEST(DrawToken, DrawsFromTheMostLikelyTopK) {
    EXPECT_THAT(all_drawn({.top_k = 1}), ElementsAre(1));
    EXPECT_THAT(all_drawn({.top_k = 3}), ElementsAre(1, 2, 3));
    EXPECT_THAT(all_drawn({.top_k = 9}), ElementsAre(0, 1, 2, 3));
    EXPECT_EQ(drawn({.top_k = 2}, 0.5), 1);  // 0.4 of 0.7
    EXPECT_EQ(drawn({.top_k = 2}, 0.6), 3);
}

TEST(DrawToken, DrawsFromTheFewestThatHaveTopP) {
    EXPECT_THAT(all_drawn({.top_p = 0.3}), ElementsAre(1));
    EXPECT_THAT(all_drawn({.top_p = 0.65}), ElementsAre(1, 3));
    EXPECT_THAT(all_drawn({.top_p = 0.85}), ElementsAre(1, 2, 3));
}

TEST(DrawToken, TakesTopPOfWhatTopKLeaves) {
    EXPECT_THAT(all_drawn({.top_k = 3, .top_p = 0.7}), ElementsAre(1, 3));  // 0.7 of 0.9 is 0.63
}

TEST(DrawToken, AlwaysKeepsOne) {
    EXPECT_THAT(all_drawn({.top_p = 0}), ElementsAre(1));
}

}  // namespace
}  // namespace ziggurat::train
