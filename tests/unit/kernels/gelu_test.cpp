#include "kernels/gelu.hpp"

#include <gtest/gtest.h>

#include "tests/reference/gelu.hpp"
#include "tests/support/kernel_data.hpp"

namespace ziggurat::kernels {
namespace {

using namespace test;

/// From far in one tail to far in the other.
std::vector<float> line(int count) {
    std::vector<float> values;
    for (int i = 0; i < count; ++i) {
        values.push_back(-15.0f + 30.0f * float(i) / float(count - 1));
    }
    return values;
}

TEST(Gelu, ForwardIsTheReferenceFromTailToTail) {
    auto x = line(37 * 67);
    std::vector<float> y(x.size());

    gelu_forward<float>(two_threads, matrix(x, 37, 67), matrix(y, 37, 67));

    for (std::size_t i = 0; i < x.size(); ++i) {
        EXPECT_NEAR(y[i], reference::gelu(x[i]), 1e-6 * std::max(1.0f, std::abs(x[i])));
    }
}

TEST(Gelu, BackwardIsTheReferenceFromTailToTail) {
    auto x = line(37 * 67);
    const auto dy = normal_values<float>(37 * 67, 1);
    auto dx = dy;

    gelu_backward<float>(two_threads, matrix(x, 37, 67), matrix(dx, 37, 67));

    for (std::size_t i = 0; i < x.size(); ++i) {
        EXPECT_NEAR(dx[i], dy[i] * reference::gelu_derivative(x[i]), 4e-6 * std::abs(dy[i]));
    }
}

TEST(Gelu, IsTheReferenceInBfloat16) {
    for (const auto [rows, width] : odd_extents) {
        auto x = normal_values<tensor::bfloat16>(rows * width, 1, 2);
        auto dy = normal_values<tensor::bfloat16>(rows * width, 2);
        std::vector<tensor::bfloat16> y(x.size());
        std::vector<double> expected;
        std::vector<double> expected_dx;
        for (std::size_t i = 0; i < x.size(); ++i) {
            expected.push_back(reference::gelu(float(x[i])));
            expected_dx.push_back(double(float(dy[i])) * reference::gelu_derivative(float(x[i])));
        }

        gelu_forward<tensor::bfloat16>(two_threads, matrix(x, rows, width), matrix(y, rows, width));
        gelu_backward<tensor::bfloat16>(two_threads, matrix(x, rows, width), matrix(dy, rows, width));

        EXPECT_LT(relative_error(y, expected), bound<tensor::bfloat16>);
        EXPECT_LT(relative_error(dy, expected_dx), bound<tensor::bfloat16>);
    }
}

TEST(Gelu, MayWriteOverItsInput) {
    auto x = normal_values<float>(129, 1);
    std::vector<float> y(x.size());
    gelu_forward<float>(two_threads, matrix(x, 1, 129), matrix(y, 1, 129));
    gelu_forward<float>(two_threads, matrix(x, 1, 129), matrix(x, 1, 129));

    EXPECT_TRUE(same_bits(x, y));
}

// The loop's tail and every position in a vector give the bits that an element has alone.
TEST(Gelu, HasTheSameBitsAtAnyPlaceOfARow) {
    auto x = normal_values<float>(129, 1, 3);
    std::vector<float> y(x.size());
    std::vector<float> alone(x.size());
    gelu_forward<float>(two_threads, matrix(x, 1, 129), matrix(y, 1, 129));
    gelu_forward<float>(two_threads, matrix(x, 129, 1), matrix(alone, 129, 1));

    EXPECT_TRUE(same_bits(alone, y));
}

TEST(Gelu, KeepsNotANumberVisible) {
    std::vector<float> x(37, std::nanf(""));
    std::vector<float> y(37);
    gelu_forward<float>(two_threads, matrix(x, 1, 37), matrix(y, 1, 37));

    EXPECT_TRUE(std::isnan(y[0]) && std::isnan(y[36]));
}

TEST(GeluReference, DerivativeIsTheFiniteDifference) {
    for (double x = -6; x < 6; x += 0.37) {
        EXPECT_NEAR(finite_difference(x, [&] { return reference::gelu(x); }), reference::gelu_derivative(x),
                    1e-8);
    }
}

}  // namespace
}  // namespace ziggurat::kernels
