#include "kernels/gradient_norm.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "tests/support/kernel_data.hpp"

namespace ziggurat::kernels {
namespace {

using namespace test;

constexpr std::int64_t count = 3 * 262144 + 777;  // several slices, several blocks and a short block

const std::vector<float>& gradient() {
    static const auto values = normal_values<float>(count, 1, 1e-3f);
    return values;
}

ExactSum whole_sum() {
    ExactSum sum;
    sum_of_squares<float>(test_stream(), gradient(), &sum);
    return sum;
}

TEST(SumOfSquares, IsTheSumInDouble) {
    double expected = 0;
    for (const double g : gradient()) {
        expected += g * g;
    }
    EXPECT_NEAR(whole_sum().value(), expected, 1e-12 * expected);
}

TEST(SumOfSquares, HasTheSameBitsOnOneThread) {
    ExactSum one;
    on_one_thread([&](const device::Stream& stream) { sum_of_squares<float>(stream, gradient(), &one); });

    EXPECT_EQ(one.limbs(), whole_sum().limbs());
}

TEST(SumOfSquares, HasTheSameBitsForAnyCutAtMultiplesOf256) {
    for (const std::size_t blocks : {1u, 3u, 1000u, 1025u}) {
        ExactSum parts;
        std::span<const float> rest = gradient();
        while (!rest.empty()) {
            const auto length = std::min(rest.size(), blocks * 256);
            sum_of_squares<float>(test_stream(), rest.first(length), &parts);
            rest = rest.subspan(length);
        }
        EXPECT_EQ(parts.limbs(), whole_sum().limbs()) << blocks;
    }
}

TEST(SumOfSquares, FoldsItsLanesAsDocumented) {
    for (std::size_t first = 0; first < 64 * 256; first += 256) {
        const auto block = std::span<const float>{gradient()}.subspan(first, 256);
        std::vector<double> lane(32);
        for (std::size_t i = 0; i < 256; ++i) {
            lane[i % 32] = std::fma(double(block[i]), double(block[i]), lane[i % 32]);
        }
        for (std::size_t half = 16; half > 0; half /= 2) {
            for (std::size_t j = 0; j < half; ++j) {
                lane[j] += lane[j + half];
            }
        }
        ExactSum sum;
        sum_of_squares<float>(test_stream(), block, &sum);
        ASSERT_EQ(sum.value(), lane[0]);
    }
}

TEST(SumOfSquares, IsNotFiniteWhenAnElementIsNot) {
    for (const float bad : {std::nanf(""), std::numeric_limits<float>::infinity()}) {
        auto values = normal_values<float>(1000, 1);
        values[999] = bad;
        ExactSum sum;
        sum_of_squares<float>(test_stream(), values, &sum);
        EXPECT_FALSE(sum.is_finite());
    }
}

TEST(SumOfSquares, OfBfloat16IsThatOfItsFloats) {
    const auto narrow = normal_values<tensor::bfloat16>(count, 1, 1e-3f);
    std::vector<float> wide(narrow.size());
    std::ranges::transform(narrow, wide.begin(), [](tensor::bfloat16 value) { return float(value); });
    ExactSum of_narrow, of_wide;
    sum_of_squares<tensor::bfloat16>(test_stream(), narrow, &of_narrow);
    sum_of_squares<float>(test_stream(), wide, &of_wide);
    EXPECT_EQ(of_narrow.limbs(), of_wide.limbs());
    EXPECT_GT(of_narrow.value(), 0);
}

TEST(SumOfSquares, OfNothingIsZero) {
    ExactSum sum;
    sum_of_squares<float>(test_stream(), std::span<const float>{}, &sum);
    EXPECT_EQ(sum.value(), 0);
}

}  // namespace
}  // namespace ziggurat::kernels
