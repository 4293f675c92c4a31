#include "spec/tensor_pattern.hpp"

#include <gtest/gtest.h>

namespace ziggurat::spec {
namespace {

TEST(TensorPattern, FitsWholeNames) {
    EXPECT_TRUE(matches("layers.3.mlp.up", "layers.3.mlp.up"));
    EXPECT_FALSE(matches("layers.3", "layers.3.mlp.up"));
    EXPECT_FALSE(matches("mlp.up", "layers.3.mlp.up"));
    EXPECT_TRUE(matches("", ""));
    EXPECT_FALSE(matches("", "x"));
}

TEST(TensorPattern, AStarStandsForAnyCharacters) {
    EXPECT_TRUE(matches("*", ""));
    EXPECT_TRUE(matches("*", "layers.3.mlp.up"));
    EXPECT_TRUE(matches("layers.*.mlp.*", "layers.31.mlp.gate"));
    EXPECT_TRUE(matches("*.bias", "layers.0.attention.q.bias"));
    EXPECT_FALSE(matches("*.bias", "layers.0.attention.q.bias_scale"));
    EXPECT_TRUE(matches("a*b*c", "a.b.b.x.c"));
    EXPECT_FALSE(matches("a*b*c", "a.c.b"));
    EXPECT_TRUE(matches("**x", "yx"));
}

TEST(TensorPattern, AQuestionMarkStandsForOne) {
    EXPECT_TRUE(matches("layers.?.norm", "layers.7.norm"));
    EXPECT_FALSE(matches("layers.?.norm", "layers.17.norm"));
    EXPECT_TRUE(matches("*?norm", "xnorm"));
    EXPECT_FALSE(matches("*?norm", "norm"));
}

TEST(TensorPattern, ManyStarsStayCheap) {
    const std::string pattern = "*a*a*a*a*a*a*a*a*a*a*b";
    EXPECT_FALSE(matches(pattern, std::string(20'000, 'a')));
}

TEST(TensorPattern, TellsPatternsThatFitNothing) {
    const std::vector<std::string> names{"embedding.tokens", "layers.0.norm1.gain"};
    const std::vector<std::string> patterns{"embeding.*", "*.gain", "layers.1.*"};

    EXPECT_TRUE(matches_any(patterns, names[1]));
    EXPECT_FALSE(matches_any(patterns, names[0]));
    EXPECT_EQ((std::vector<std::string>{"embeding.*", "layers.1.*"}), unmatched_patterns(patterns, names));
}

}  // namespace
}  // namespace ziggurat::spec
