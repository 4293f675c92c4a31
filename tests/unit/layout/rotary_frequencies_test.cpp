#include "layout/rotary_frequencies.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <vector>

namespace ziggurat::layout {
namespace {

spec::Model model_with(const spec::RopeScaling& scaling) {
    spec::Model model;
    model.head_dim = 128;
    model.rotary_fraction = 0.5;
    model.rope_theta = 500000;
    model.rope_scaling = scaling;
    return model;
}

TEST(RotaryFrequencies, FallFromOneTowardsOneOverTheta) {
    const auto frequencies = rotary_frequencies(model_with({}), 16);
    ASSERT_EQ(frequencies.size(), 32u);
    EXPECT_EQ(frequencies[0], 1);
    EXPECT_DOUBLE_EQ(frequencies[16], 1 / std::sqrt(500000.0));
}

TEST(RotaryFrequencies, AreAllDividedByALinearFactor) {
    const auto plain = rotary_frequencies(model_with({}), 16);
    const auto scaled =
        rotary_frequencies(model_with({.kind = spec::RopeScalingKind::linear, .factor = 8}), 16);
    for (std::size_t i = 0; i < plain.size(); ++i) {
        EXPECT_EQ(scaled[i], plain[i] / 8);
    }
}

/// Scaling by wavelengths, as in the reference code.
TEST(RotaryFrequencies, AreScaledByParts) {
    const auto plain = rotary_frequencies(model_with({}), 16);
    const auto scaled = rotary_frequencies(model_with({spec::RopeScalingKind::by_parts, 8, 1, 4, 8192}), 16);
    int kept = 0;
    int divided = 0;
    for (std::size_t i = 0; i < plain.size(); ++i) {
        const double wavelength = 2 * std::numbers::pi / plain[i];
        if (wavelength < 8192 / 4.0) {
            EXPECT_EQ(scaled[i], plain[i]) << i;
            ++kept;
        } else if (wavelength > 8192 / 1.0) {
            EXPECT_EQ(scaled[i], plain[i] / 8) << i;
            ++divided;
        } else {
            const double smooth = (8192 / wavelength - 1) / (4 - 1);
            EXPECT_DOUBLE_EQ(scaled[i], (1 - smooth) * plain[i] / 8 + smooth * plain[i]) << i;
        }
    }
    EXPECT_EQ(kept, 15);
    EXPECT_EQ(divided, 14);
}

/// Expects the frequencies of a head with `channels` channels. transformers computes them in float.
void expect_frequencies(std::int64_t channels,
                        double theta,
                        const spec::RopeScaling& scaling,
                        std::int64_t seq,
                        const std::vector<double>& expected) {
    spec::Model model;
    model.head_dim = channels;
    model.rope_theta = theta;
    model.rope_scaling = scaling;
    const auto frequencies = rotary_frequencies(model, seq);
    ASSERT_EQ(frequencies.size(), expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
        EXPECT_NEAR(frequencies[i], expected[i], 1e-6 * expected[i]) << i;
    }
}

/// Source of the numbers: _compute_yarn_parameters of transformers 5.24.0.
///
/// Version 4.46.3 computes the same in the first and the last case; it has no `truncate`.
TEST(RotaryFrequencies, AreThoseOfYarn) {
    spec::RopeScaling yarn{.kind = spec::RopeScalingKind::yarn, .factor = 4, .original_max_seq = 32768};
    expect_frequencies(
        16, 1e4, yarn, 16,
        {1, 0.31622776, 0.1, 0.031622779, 0.0099999998, 0.0025693509, 0.00062500004, 0.00013834966});
    yarn = {.kind = spec::RopeScalingKind::yarn, .factor = 32, .original_max_seq = 4096, .truncate = false};
    expect_frequencies(
        16, 1e4, yarn, 16,
        {1, 0.31622776, 0.1, 0.027735936, 0.0055527543, 0.00073827687, 3.1250001e-05, 9.8821183e-06});
    yarn = {.kind = spec::RopeScalingKind::yarn,
            .factor = 8,
            .original_max_seq = 64,
            .beta_fast = 2,
            .beta_slow = 0.5};
    expect_frequencies(
        16, 500, yarn, 16,
        {1, 0.45986328, 0.21147424, 0.054702703, 0.0055901702, 0.0025707141, 0.001182177, 0.00054363982});
}

/// Both bounds of the range are outside of the pairs. Source of the numbers: as above.
TEST(RotaryFrequencies, OfYarnHaveBoundsOutsideOfThePairs) {
    expect_frequencies(8, 1e4, {.kind = spec::RopeScalingKind::yarn, .factor = 2, .original_max_seq = 4}, 16,
                       {1, 0.050000001, 0.0049999999, 0.00050000002});
    expect_frequencies(8, 4, {.kind = spec::RopeScalingKind::yarn, .factor = 2, .original_max_seq = 4096}, 16,
                       {0.5, 0.35355338, 0.25, 0.17677669});
}

/// Source of the numbers: Phi3LongRoPEScaledRotaryEmbedding of transformers 4.46.3, and
/// _compute_longrope_parameters of 5.24.0.
TEST(RotaryFrequencies, OfLongropeHaveFactorsByTheLengthOfSequences) {
    const spec::RopeScaling longrope{.kind = spec::RopeScalingKind::longrope,
                                     .factor = 32,
                                     .original_max_seq = 4096,
                                     .short_factors = {1, 1.25, 1.5, 2},
                                     .long_factors = {1.5, 4, 10, 40}};
    expect_frequencies(8, 1e4, longrope, 4096, {1, 0.079999998, 0.0066666668, 0.00050000002});
    expect_frequencies(8, 1e4, longrope, 4097, {0.66666669, 0.025, 0.001, 2.4999999e-05});
}

/// Up to max_seq, as in transformers.
TEST(RotaryFrequencies, OfDynamicScalingAreNotScaled) {
    expect_frequencies(8, 1e4, {.kind = spec::RopeScalingKind::dynamic, .factor = 4}, 64,
                       {1, 0.1, 0.01, 0.001});
}

/// Source of the numbers: the same functions of transformers. The last one is with mscale 0.707 and
/// mscale_all_dim 1.
TEST(RotaryFrequencies, HaveTheirFactorOfCosinesAndSines) {
    spec::RopeScaling scaling{.kind = spec::RopeScalingKind::yarn, .factor = 32};
    EXPECT_DOUBLE_EQ(usual_attention_factor(scaling), 1.3465735902799727);
    scaling.factor = 1;
    EXPECT_EQ(usual_attention_factor(scaling), 1);
    scaling = {.kind = spec::RopeScalingKind::longrope, .factor = 32, .original_max_seq = 4096};
    EXPECT_DOUBLE_EQ(usual_attention_factor(scaling), 1.1902380714238083);
    scaling.factor = 1;
    EXPECT_EQ(usual_attention_factor(scaling), 1);
    scaling = {.kind = spec::RopeScalingKind::dynamic, .factor = 32};
    EXPECT_EQ(usual_attention_factor(scaling), 1);
    EXPECT_DOUBLE_EQ(attention_growth(40, 0.707) / attention_growth(40, 1), 0.9210423553163399);
}

}  // namespace
}  // namespace ziggurat::layout
