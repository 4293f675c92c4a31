#include "kernels/rope.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/reference/rope.hpp"
#include "tests/support/kernel_data.hpp"

namespace ziggurat::kernels {
namespace {

using tensor::bfloat16;
using test::matrix;
using test::row;

constexpr double theta = 500000;
constexpr AttentionShape shape{1, 5, 3, 1, 34};
constexpr std::int64_t width = 5 * 34;
const std::vector<std::int32_t> positions{0, 1, 2, 0, 8191};

tensor::TensorRef<const float, 3> table(std::int64_t head_dim, double factor = 1) {
    static std::vector<float> values;
    values.resize(static_cast<std::size_t>(8192 * head_dim));
    const tensor::TensorRef<float, 3> ref{values.data(), {8192, head_dim / 2, 2}};
    std::vector<double> frequencies;
    for (std::int64_t pair = 0; pair < head_dim / 2; ++pair) {
        frequencies.push_back(
            std::pow(theta, -2.0 * static_cast<double>(pair) / static_cast<double>(head_dim)));
    }
    rope_table(frequencies, factor, ref);
    return ref;
}

template <class T>
class RopeTest : public ::testing::Test {};
using ComputeTypes = ::testing::Types<float, bfloat16>;
TYPED_TEST_SUITE(RopeTest, ComputeTypes);

TYPED_TEST(RopeTest, TurnsQueriesAndKeysAndLeavesValues) {
    const auto before = test::normal_values<TypeParam>(5 * width, 1);
    auto after = before;

    rope<TypeParam>(test::test_stream(), shape, {positions.data(), {5}}, table(34), RopeDirection::forward,
                    matrix(after, 5, width));

    const auto numbers = test::doubles(before);
    std::vector<double> expected;
    for (std::size_t r = 0; r < 5; ++r) {
        for (std::size_t head = 0; head < 5; ++head) {
            const auto begin = numbers.begin() + static_cast<std::ptrdiff_t>(r * width + head * 34);
            std::vector<double> values{begin, begin + 34};
            if (head < 4) {
                values = reference::rope(values, positions[r], theta);
            }
            expected.insert(expected.end(), values.begin(), values.end());
        }
    }
    EXPECT_LT(test::relative_error(after, expected), test::bound<TypeParam>);
}

/// The first channels of a head are rotated as a separate head; the others stay unchanged bit by bit.
TYPED_TEST(RopeTest, TurnsAPartOfEachHead) {
    constexpr std::int64_t part = 10;
    const auto before = test::normal_values<TypeParam>(5 * width, 1);
    auto after = before;

    rope<TypeParam>(test::test_stream(), shape, {positions.data(), {5}}, table(part), RopeDirection::forward,
                    matrix(after, 5, width));

    const auto numbers = test::doubles(before);
    std::vector<TypeParam> turned;
    std::vector<double> expected;
    for (std::size_t i = 0; i < after.size(); ++i) {
        const auto head = i % width / 34;
        if (i % width % 34 >= part || head >= 4) {
            EXPECT_EQ(float(after[i]), float(before[i])) << i;
        } else if (i % width % 34 == 0) {
            const auto at = static_cast<std::ptrdiff_t>(i);
            const auto values = reference::rope({numbers.begin() + at, numbers.begin() + at + part},
                                                positions[i / width], theta);
            expected.insert(expected.end(), values.begin(), values.end());
            turned.insert(turned.end(), after.begin() + at, after.begin() + at + part);
        }
    }
    EXPECT_LT(test::relative_error(turned, expected), test::bound<TypeParam>);
}

/// Backward, too, multiplies by the factor: it is the transpose, and not the inverse.
TYPED_TEST(RopeTest, MultipliesTheTurnedChannelsByTheFactorOfTheTable) {
    constexpr double factor = 1.25;
    for (const auto direction : {RopeDirection::forward, RopeDirection::backward}) {
        const auto before = test::normal_values<TypeParam>(5 * width, 1);
        auto plain = before;
        auto scaled = before;

        rope<TypeParam>(test::test_stream(), shape, {positions.data(), {5}}, table(34), direction,
                        matrix(plain, 5, width));
        rope<TypeParam>(test::test_stream(), shape, {positions.data(), {5}}, table(34, factor), direction,
                        matrix(scaled, 5, width));

        auto expected = test::doubles(plain);
        for (std::size_t i = 0; i < expected.size(); ++i) {
            expected[i] *= i % width / 34 < 4 ? factor : 1;
        }
        EXPECT_LT(test::relative_error(scaled, expected), 2 * test::bound<TypeParam>);
    }
}

TYPED_TEST(RopeTest, RefusesMorePairsThanAHeadHas) {
    auto x = test::normal_values<TypeParam>(width, 1);
    const std::vector<std::int32_t> first{0};

    EXPECT_ANY_THROW(rope<TypeParam>(test::test_stream(), {1, 1, 3, 1, 34}, {first.data(), {1}}, table(36),
                                     RopeDirection::forward, matrix(x, 1, width)));
}

TYPED_TEST(RopeTest, BackwardIsTheTransposeOfForward) {
    auto x = test::normal_values<TypeParam>(5 * width, 1);
    auto dy = test::normal_values<TypeParam>(5 * width, 2);
    auto y = x;
    auto dx = dy;

    rope<TypeParam>(test::test_stream(), shape, {positions.data(), {5}}, table(34), RopeDirection::forward,
                    matrix(y, 5, width));
    rope<TypeParam>(test::test_stream(), shape, {positions.data(), {5}}, table(34), RopeDirection::backward,
                    matrix(dx, 5, width));

    const double scale = std::sqrt(test::dot(test::doubles(y), test::doubles(y)) *
                                   test::dot(test::doubles(dy), test::doubles(dy)));
    EXPECT_NEAR(test::dot(test::doubles(y), test::doubles(dy)),
                test::dot(test::doubles(x), test::doubles(dx)), test::bound<TypeParam> * scale);
}

TYPED_TEST(RopeTest, RefusesAPositionBeyondTheTable) {
    ZG_SKIP_ON_CUDA();
    auto x = test::normal_values<TypeParam>(width, 1);
    const std::vector<std::int32_t> far{8192};

    EXPECT_ANY_THROW(rope<TypeParam>(test::test_stream(), {1, 1, 3, 1, 34}, {far.data(), {1}}, table(34),
                                     RopeDirection::forward, matrix(x, 1, width)));
}

}  // namespace
}  // namespace ziggurat::kernels
