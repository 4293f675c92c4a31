#include "base/philox.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace ziggurat {
namespace {

using Words = Philox4x32::Counter;

// Known answers published by Salmon et al. with their implementation (Random123, philox4x32-10).
TEST(Philox, GivesTheKnownAnswers) {
    EXPECT_EQ(Philox4x32::generate({0, 0, 0, 0}, {0, 0}),
              (Words{0x6627e8d5u, 0xe169c58du, 0xbc57ac4cu, 0x9b00dbd8u}));
    EXPECT_EQ(Philox4x32::generate({~0u, ~0u, ~0u, ~0u}, {~0u, ~0u}),
              (Words{0x408f276du, 0x41c83b0eu, 0xa20bc7c6u, 0x6d5451fdu}));
    EXPECT_EQ(Philox4x32::generate({0x243f6a88u, 0x85a308d3u, 0x13198a2eu, 0x03707344u},
                                   {0xa4093822u, 0x299f31d0u}),
              (Words{0xd16cfe09u, 0x94fdccebu, 0x5001e420u, 0x24126ea1u}));
}

TEST(Philox, IsKnownAtCompileTime) {
    constexpr auto words = Philox4x32::generate({0, 0, 0, 0}, {0, 0});
    static_assert(words[0] == 0x6627e8d5u);
}

TEST(Philox, UniformIsNeverZeroAndNeverAboveOne) {
    EXPECT_EQ(uniform(0), 0x1p-24f);
    EXPECT_EQ(uniform(~0u), 1.0f);
    EXPECT_EQ(uniform(0x7fffffffu), 0.5f);
}

TEST(Philox, NormalPairsHaveMeanZeroVarianceOneAndNormalTails) {
    constexpr int pairs = 200000;
    double sum = 0;
    double squares = 0;
    double product = 0;
    int beyond_two = 0;
    for (std::uint32_t i = 0; i < pairs; ++i) {
        const auto words = Philox4x32::generate({i, 0, 0, 0}, {1234, 0});
        const auto [a, b] = normal_pair(words[0], words[1]);
        sum += a + b;
        squares += double(a) * a + double(b) * b;
        product += double(a) * b;
        beyond_two += (std::abs(a) > 2) + (std::abs(b) > 2);
    }

    EXPECT_NEAR(sum / (2 * pairs), 0, 0.008);  // five standard deviations of the mean
    EXPECT_NEAR(squares / (2 * pairs), 1, 0.012);
    EXPECT_NEAR(product / pairs, 0, 0.012);
    EXPECT_NEAR(double(beyond_two) / (2 * pairs), 0.0455, 0.0017);
}

TEST(Philox, NormalPairIsFiniteAtTheEdges) {
    for (const std::uint32_t word : {0u, 0xffu, 0x100u, ~0u}) {
        const auto [a, b] = normal_pair(word, word);
        EXPECT_LT(std::hypot(a, b), 5.8f);
    }
}

}  // namespace
}  // namespace ziggurat
