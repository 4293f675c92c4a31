#include "kernels/vector_math.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace ziggurat::kernels {
namespace {

TEST(VectorMath, ExponentialIsRightToTwoPartsInTenMillion) {
    for (float x = -87; x < 88; x += 0.00173f) {
        const double expected = std::exp(double(x));
        ASSERT_NEAR(exponential(x), expected, 2e-7 * expected) << x;
    }
    EXPECT_EQ(exponential(0), 1.0f);
}

TEST(VectorMath, ExponentialStaysFiniteAndKeepsNotANumber) {
    EXPECT_LT(exponential(-1e30f), 2e-38f);
    EXPECT_GT(exponential(-1e30f), 0);
    EXPECT_TRUE(std::isfinite(exponential(1e30f)));
    EXPECT_TRUE(std::isnan(exponential(std::nanf(""))));
    EXPECT_TRUE(std::isnan(exponential(-std::nanf(""))));
}

TEST(VectorMath, SigmoidIsSymmetric) {
    for (float x = 0; x < 20; x += 0.1f) {
        EXPECT_NEAR(sigmoid(x) + sigmoid(-x), 1, 3e-7);
        EXPECT_NEAR(sigmoid(x), 1 / (1 + std::exp(-double(x))), 2e-7);
    }
}

}  // namespace
}  // namespace ziggurat::kernels
