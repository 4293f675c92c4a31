#include "layout/rotary_frequencies.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

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
    const auto frequencies = rotary_frequencies(model_with({}));
    ASSERT_EQ(frequencies.size(), 32u);
    EXPECT_EQ(frequencies[0], 1);
    EXPECT_DOUBLE_EQ(frequencies[16], 1 / std::sqrt(500000.0));
}

TEST(RotaryFrequencies, AreAllDividedByALinearFactor) {
    const auto plain = rotary_frequencies(model_with({}));
    const auto scaled = rotary_frequencies(model_with({.kind = spec::RopeScalingKind::linear, .factor = 8}));
    for (std::size_t i = 0; i < plain.size(); ++i) {
        EXPECT_EQ(scaled[i], plain[i] / 8);
    }
}

/// Scaling by wavelengths, as in the reference code.
TEST(RotaryFrequencies, AreScaledByParts) {
    const auto plain = rotary_frequencies(model_with({}));
    const auto scaled = rotary_frequencies(model_with({spec::RopeScalingKind::by_parts, 8, 1, 4, 8192}));
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

}  // namespace
}  // namespace ziggurat::layout
