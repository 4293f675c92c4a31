#include "kernels/gelu.hpp"

#include <gtest/gtest.h>

#include "tests/reference/gelu.hpp"
#include "tests/support/kernel_data.hpp"

namespace ziggurat::kernels {
namespace {

using namespace test;

/// Returns values from far in one tail to far in the other.
std::vector<float> line(int count) {
    std::vector<float> values;
    for (int i = 0; i < count; ++i) {
        values.push_back(-15.0f + 30.0f * float(i) / float(count - 1));
    }
    return values;
}

/// A form of GELU: its kernels and its reference.
struct Tanh {
    template <class T, class X, class Y>
    static void forward(X x, Y y) {
        gelu_forward<T>(test_stream(), x, y);
    }
    template <class T, class X, class Y>
    static void backward(X x, Y dy) {
        gelu_backward<T>(test_stream(), x, dy);
    }
    static double value(double x) { return reference::gelu(x); }
    static double derivative(double x) { return reference::gelu_derivative(x); }
    static constexpr double slope_bound = 4e-6;
};

struct Erf {
    template <class T, class X, class Y>
    static void forward(X x, Y y) {
        gelu_erf_forward<T>(test_stream(), x, y);
    }
    template <class T, class X, class Y>
    static void backward(X x, Y dy) {
        gelu_erf_backward<T>(test_stream(), x, dy);
    }
    static double value(double x) { return reference::gelu_erf(x); }
    static double derivative(double x) { return reference::gelu_erf_derivative(x); }
    static constexpr double slope_bound = 1e-6;
};

template <class Form>
class Gelu : public ::testing::Test {};
using Forms = ::testing::Types<Tanh, Erf>;
TYPED_TEST_SUITE(Gelu, Forms);

TYPED_TEST(Gelu, ForwardIsTheReferenceFromTailToTail) {
    auto x = line(37 * 67);
    std::vector<float> y(x.size());

    TypeParam::template forward<float>(matrix(x, 37, 67), matrix(y, 37, 67));

    for (std::size_t i = 0; i < x.size(); ++i) {
        EXPECT_NEAR(y[i], TypeParam::value(x[i]), 1e-6 * std::max(1.0f, std::abs(x[i])));
    }
}

TYPED_TEST(Gelu, BackwardIsTheReferenceFromTailToTail) {
    auto x = line(37 * 67);
    const auto dy = normal_values<float>(37 * 67, 1);
    auto dx = dy;

    TypeParam::template backward<float>(matrix(x, 37, 67), matrix(dx, 37, 67));

    for (std::size_t i = 0; i < x.size(); ++i) {
        EXPECT_NEAR(dx[i], dy[i] * TypeParam::derivative(x[i]), TypeParam::slope_bound * std::abs(dy[i]));
    }
}

TYPED_TEST(Gelu, IsTheReferenceInBfloat16) {
    for (const auto [rows, width] : odd_extents) {
        auto x = normal_values<tensor::bfloat16>(rows * width, 1, 2);
        auto dy = normal_values<tensor::bfloat16>(rows * width, 2);
        std::vector<tensor::bfloat16> y(x.size());
        std::vector<double> expected;
        std::vector<double> expected_dx;
        for (std::size_t i = 0; i < x.size(); ++i) {
            expected.push_back(TypeParam::value(float(x[i])));
            expected_dx.push_back(double(float(dy[i])) * TypeParam::derivative(float(x[i])));
        }

        TypeParam::template forward<tensor::bfloat16>(matrix(x, rows, width), matrix(y, rows, width));
        TypeParam::template backward<tensor::bfloat16>(matrix(x, rows, width), matrix(dy, rows, width));

        EXPECT_LT(relative_error(y, expected), bound<tensor::bfloat16>);
        EXPECT_LT(relative_error(dy, expected_dx), bound<tensor::bfloat16>);
    }
}

TYPED_TEST(Gelu, MayWriteOverItsInput) {
    auto x = normal_values<float>(129, 1);
    std::vector<float> y(x.size());
    TypeParam::template forward<float>(matrix(x, 1, 129), matrix(y, 1, 129));
    TypeParam::template forward<float>(matrix(x, 1, 129), matrix(x, 1, 129));

    EXPECT_TRUE(same_bits(x, y));
}

// Elements in the loop's tail and at every position in a vector have the same bits as alone.
TYPED_TEST(Gelu, HasTheSameBitsAtAnyPlaceOfARow) {
    auto x = normal_values<float>(129, 1, 3);
    std::vector<float> y(x.size());
    std::vector<float> alone(x.size());
    TypeParam::template forward<float>(matrix(x, 1, 129), matrix(y, 1, 129));
    TypeParam::template forward<float>(matrix(x, 129, 1), matrix(alone, 129, 1));

    EXPECT_TRUE(same_bits(alone, y));
}

TYPED_TEST(Gelu, KeepsNotANumberVisible) {
    std::vector<float> x(37, std::nanf(""));
    std::vector<float> y(37);
    TypeParam::template forward<float>(matrix(x, 1, 37), matrix(y, 1, 37));

    EXPECT_TRUE(std::isnan(y[0]) && std::isnan(y[36]));
}

TYPED_TEST(Gelu, HasAReferenceWhoseDerivativeIsTheFiniteDifference) {
    for (double x = -6; x < 6; x += 0.37) {
        EXPECT_NEAR(finite_difference(x, [&] { return TypeParam::value(x); }), TypeParam::derivative(x),
                    1e-8);
    }
}

}  // namespace
}  // namespace ziggurat::kernels
