#include "kernels/element/vector_math.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "kernels/element/softcap.hpp"

namespace ziggurat::kernels {
namespace {

TEST(VectorMath, PowersAreRightToTwoPartsInTenMillion) {
    for (float t = -125; t <= 127; t += 0.00273f) {
        const double expected = std::exp2(double(t));
        ASSERT_NEAR(exp2_in_range(t), expected, 2e-7 * expected) << t;
    }
    EXPECT_EQ(exp2_in_range(0), 1.0f);
    EXPECT_EQ(exp2_in_range(-125), 0x1p-125f);
    EXPECT_EQ(exp2_in_range(127), 0x1p127f);
}

TEST(VectorMath, PowersFarBelowAreTinyAndNotANumberStays) {
    EXPECT_EQ(exp2_not_large(-1e30f), 0x1p-125f);
    EXPECT_EQ(exp2_not_large(-INFINITY), 0x1p-125f);
    EXPECT_TRUE(std::isnan(exp2_not_large(NAN)));
    EXPECT_TRUE(std::isnan(exp2_not_large(-NAN)));
}

TEST(VectorMath, SigmoidIsRightEverywhere) {
    for (float x = -120; x < 120; x += 0.0137f) {
        ASSERT_NEAR(sigmoid(x), 1 / (1 + std::exp(-double(x))), 3e-7) << x;
    }
    EXPECT_EQ(sigmoid(0), 0.5f);
    EXPECT_EQ(sigmoid(INFINITY), 1.0f);
    EXPECT_LT(sigmoid(-INFINITY), 1e-37f);
    EXPECT_GE(sigmoid(-1e30f), 0.0f);
}

TEST(VectorMath, HyperbolicTangentIsRightToThreePartsInTenMillion) {
    for (float x = -12; x < 12; x += 0.00137f) {
        const double expected = std::tanh(double(x));
        ASSERT_NEAR(hyperbolic_tangent(x), expected, 3e-7 * std::fabs(expected)) << x;
    }
    ASSERT_NEAR(hyperbolic_tangent(1e-6f), 1e-6f, 1e-13);
    EXPECT_EQ(hyperbolic_tangent(0), 0.0f);
    EXPECT_EQ(hyperbolic_tangent(INFINITY), 1.0f);
    EXPECT_EQ(hyperbolic_tangent(-1e30f), -1.0f);
    EXPECT_TRUE(std::isnan(hyperbolic_tangent(NAN)));
}

TEST(VectorMath, ErrorFunctionIsRightEverywhere) {
    for (float x = -12; x < 12; x += 0.00137f) {
        ASSERT_NEAR(error_function(x), std::erf(double(x)), 2e-7) << x;
    }
    EXPECT_EQ(error_function(0), 0.0f);
    EXPECT_EQ(error_function(INFINITY), 1.0f);
    EXPECT_EQ(error_function(-1e30f), -1.0f);
    EXPECT_TRUE(std::isnan(error_function(NAN)));
}

}  // namespace
}  // namespace ziggurat::kernels
