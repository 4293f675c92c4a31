#include "kernels/glu/swiglu.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "tests/reference/swiglu.hpp"
#include "tests/support/kernel_data.hpp"

namespace ziggurat::kernels {
namespace {

using namespace test;

template <class T>
class Swiglu : public ::testing::Test {};
using Types = ::testing::Types<float, tensor::bfloat16>;
TYPED_TEST_SUITE(Swiglu, Types);

TYPED_TEST(Swiglu, IsTheReferenceForwardAndBackward) {
    for (const auto [rows, width] : odd_extents) {
        auto x = normal_values<TypeParam>(rows * 2 * width, 1, 3);
        auto dy = normal_values<TypeParam>(rows * width, 2);
        std::vector<TypeParam> y(dy.size());
        std::vector<TypeParam> dx(x.size());

        swiglu_forward<TypeParam>(test_stream(), matrix(x, rows, 2 * width), matrix(y, rows, width));
        swiglu_backward<TypeParam>(test_stream(), matrix(x, rows, 2 * width), matrix(dy, rows, width),
                                   matrix(dx, rows, 2 * width));

        const auto columns = static_cast<std::size_t>(width);
        EXPECT_LT(relative_error(y, reference::swiglu(doubles(x), columns)), bound<TypeParam>);
        EXPECT_LT(relative_error(dx, reference::swiglu_backward(doubles(x), doubles(dy), columns)),
                  bound<TypeParam>);
    }
}

TYPED_TEST(Swiglu, GegluIsTheReferenceForwardAndBackward) {
    for (const auto [rows, width] : odd_extents) {
        auto x = normal_values<TypeParam>(rows * 2 * width, 1, 3);
        auto dy = normal_values<TypeParam>(rows * width, 2);
        std::vector<TypeParam> y(dy.size());
        std::vector<TypeParam> dx(x.size());

        geglu_forward<TypeParam>(test_stream(), matrix(x, rows, 2 * width), matrix(y, rows, width));
        geglu_backward<TypeParam>(test_stream(), matrix(x, rows, 2 * width), matrix(dy, rows, width),
                                  matrix(dx, rows, 2 * width));

        const auto columns = static_cast<std::size_t>(width);
        EXPECT_LT(relative_error(y, reference::geglu(doubles(x), columns)), bound<TypeParam>);
        EXPECT_LT(relative_error(dx, reference::geglu_backward(doubles(x), doubles(dy), columns)),
                  4 * bound<TypeParam>);
    }
}

TYPED_TEST(Swiglu, BackwardMayWriteOverItsInput) {
    auto x = normal_values<TypeParam>(5 * 2 * 37, 1);
    auto dy = normal_values<TypeParam>(5 * 37, 2);
    std::vector<TypeParam> dx(x.size());
    swiglu_backward<TypeParam>(test_stream(), matrix(x, 5, 74), matrix(dy, 5, 37), matrix(dx, 5, 74));
    swiglu_backward<TypeParam>(test_stream(), matrix(x, 5, 74), matrix(dy, 5, 37), matrix(x, 5, 74));

    EXPECT_TRUE(same_bits(x, dx));
}

TYPED_TEST(Swiglu, BackwardMayReadItsGradientInTheGates) {
    for (const auto [rows, width] : odd_extents) {
        auto x = normal_values<TypeParam>(rows * 2 * width, 1, 3);
        auto dy = normal_values<TypeParam>(rows * width, 2);
        std::vector<TypeParam> dx(x.size()), in_gates(x.size());
        for (std::int64_t row = 0; row < rows; ++row) {
            std::copy_n(dy.begin() + row * width, width, in_gates.begin() + row * 2 * width);
        }
        const auto gradient = matrix(in_gates, rows, 2 * width);
        swiglu_backward<TypeParam>(test_stream(), matrix(x, rows, 2 * width), matrix(dy, rows, width),
                                   matrix(dx, rows, 2 * width));
        swiglu_backward<TypeParam>(test_stream(), matrix(x, rows, 2 * width), gradient, gradient);
        EXPECT_TRUE(same_bits(in_gates, dx));
        EXPECT_THROW(swiglu_backward<TypeParam>(test_stream(), matrix(x, rows, 2 * width), gradient,
                                                matrix(dx, rows, 2 * width)),
                     Error);
    }
}

/// Backward over its inputs, with the output, has the bits of forward and of plain backward.
TYPED_TEST(Swiglu, BackwardAlsoComputesTheOutput) {
    using T = TypeParam;
    using Forward = decltype(&swiglu_forward<T>);
    using Backward = decltype(&swiglu_backward<T>);
    const std::vector<std::pair<Forward, Backward>> forms{{swiglu_forward<T>, swiglu_backward<T>},
                                                          {geglu_forward<T>, geglu_backward<T>}};
    for (const auto& [forward, backward] : forms) {
        for (const auto [rows, width] : odd_extents) {
            auto x = normal_values<T>(rows * 2 * width, 1, 3);
            auto dy = normal_values<T>(rows * width, 2);
            std::vector<T> y(dy.size()), dx(x.size());
            forward(test_stream(), matrix(x, rows, 2 * width), matrix(y, rows, width));
            backward(test_stream(), matrix(x, rows, 2 * width), matrix(dy, rows, width),
                     matrix(dx, rows, 2 * width), {});

            backward(test_stream(), matrix(x, rows, 2 * width), matrix(dy, rows, width),
                     matrix(x, rows, 2 * width), matrix(dy, rows, width));

            EXPECT_TRUE(same_bits(x, dx));
            EXPECT_TRUE(same_bits(dy, y));
        }
    }
}

TEST(SwigluFloat, RefusesAnInputThatIsNotTwiceAsWide) {
    std::vector<float> x(10);
    std::vector<float> y(6);
    EXPECT_THROW(swiglu_forward<float>(test_stream(), matrix(x, 2, 5), matrix(y, 2, 3)), Error);
    EXPECT_THROW(swiglu_backward<float>(test_stream(), matrix(x, 1, 10), matrix(y, 1, 5), matrix(x, 1, 10),
                                        matrix(y, 1, 6)),
                 Error);
}

TEST(SwigluReference, BackwardIsTheFiniteDifference) {
    auto x = doubles(normal_values<float>(2 * 2 * 5, 1));
    const auto dy = doubles(normal_values<float>(2 * 5, 2));
    const auto dx = reference::swiglu_backward(x, dy, 5);
    const auto d_geglu = reference::geglu_backward(x, dy, 5);

    EXPECT_LE(gap_to_finite_differences(x, dx, [&] { return dot(reference::swiglu(x, 5), dy); }), 1e-8);
    EXPECT_LE(gap_to_finite_differences(x, d_geglu, [&] { return dot(reference::geglu(x, 5), dy); }), 1e-8);
}

}  // namespace
}  // namespace ziggurat::kernels
