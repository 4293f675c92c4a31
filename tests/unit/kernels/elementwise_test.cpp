#include "kernels/elementwise.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "kernels/columns.hpp"
#include "tests/support/kernel_data.hpp"

namespace ziggurat::kernels {
namespace {

using namespace test;
using tensor::bfloat16;

TEST(Elementwise, FillsWithZero) {
    auto values = normal_values<bfloat16>(20011, 1);
    fill_zero<bfloat16>(test_stream(), values);
    EXPECT_EQ(values, std::vector<bfloat16>(20011));

    auto floats = normal_values<float>(37, 1);
    fill_zero<float>(test_stream(), floats);
    EXPECT_EQ(floats, std::vector<float>(37));
}

TEST(Elementwise, AddsElementByElement) {
    const auto x = normal_values<float>(20011, 1);
    const auto y = normal_values<float>(20011, 2);
    auto sum = y;
    add_to<float>(test_stream(), x, sum);

    for (std::size_t i = 0; i < x.size(); ++i) {
        ASSERT_EQ(sum[i], y[i] + x[i]);
    }
}

TEST(Elementwise, AddsToBfloat16InFloatAndRoundsOnce) {
    const auto x = normal_values<float>(20011, 1);
    const auto before = normal_values<bfloat16>(20011, 2);
    auto sum = before;
    add_to<bfloat16>(test_stream(), x, sum);
    for (std::size_t i = 0; i < x.size(); ++i) {
        ASSERT_EQ(sum[i], bfloat16(float(before[i]) + x[i]));
    }
}

TEST(Elementwise, ScalesInFloatAndRoundsOnce) {
    const auto before = normal_values<bfloat16>(20011, 2);
    auto scaled = before;
    scale<bfloat16>(test_stream(), 1.7f, scaled);
    for (std::size_t i = 0; i < before.size(); ++i) {
        ASSERT_EQ(scaled[i], bfloat16(1.7f * float(before[i])));
    }
}

TEST(Columns, AreAddedToTheirPlacesAlone) {
    constexpr std::int64_t rows = 37, width = 29, part = 11, first = 13;
    const auto x = normal_values<bfloat16>(rows * part, 1);
    const auto before = normal_values<bfloat16>(rows * width, 2);
    auto sum = before;
    add_columns<bfloat16>(test_stream(), tensor::TensorRef<const bfloat16, 2>{x.data(), {rows, part}}, first,
                          tensor::TensorRef<bfloat16, 2>{sum.data(), {rows, width}});
    for (std::int64_t row = 0; row < rows; ++row) {
        for (std::int64_t column = 0; column < width; ++column) {
            const auto at = static_cast<std::size_t>(row * width + column);
            const bool is_meant = column >= first && column < first + part;
            const auto added = is_meant ? float(x[static_cast<std::size_t>(row * part + column - first)]) : 0;
            ASSERT_EQ(sum[at], is_meant ? bfloat16(float(before[at]) + added) : before[at]);
        }
    }
    EXPECT_THROW(
        add_columns<bfloat16>(test_stream(), tensor::TensorRef<const bfloat16, 2>{x.data(), {rows, part}},
                              width - part + 1, tensor::TensorRef<bfloat16, 2>{sum.data(), {rows, width}}),
        Error);
}

TEST(Elementwise, EveryBfloat16SurvivesTheWayToFloatAndBack) {
    std::vector<bfloat16> all(65536);
    for (std::size_t i = 0; i < all.size(); ++i) {
        all[i].bits = static_cast<std::uint16_t>(i);
    }
    std::vector<float> wide(all.size());
    std::vector<bfloat16> back(all.size());
    convert<bfloat16, float>(test_stream(), all, wide);
    convert<float, bfloat16>(test_stream(), wide, back);

    for (std::size_t i = 0; i < all.size(); ++i) {
        if (std::isnan(wide[i])) {
            ASSERT_TRUE(std::isnan(float(back[i])));
        } else {
            ASSERT_EQ(back[i], all[i]);
        }
    }
}

/// Rounds to nearest, ties to even, using the two neighbours in double precision.
float nearest_bfloat16(float value) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    const auto below = std::bit_cast<float>(bits & 0xffff0000u);
    const auto above = std::bit_cast<float>((bits & 0xffff0000u) + 0x10000u);
    const double to_below = std::abs(double(value) - double(below));
    const double to_above =
        std::isinf(above) ? 0x1p127 * 2 - std::abs(double(value)) : std::abs(double(above) - double(value));
    if (to_below == to_above) {
        return (bits & 0x10000u) == 0 ? below : above;
    }
    return to_below < to_above ? below : above;
}

TEST(Elementwise, RoundsToNearestEven) {
    std::vector<float> values{1.0f,  1.00390625f, 1.01171875f, 1.00390626f, -1.00390625f, 0.0f,
                              -0.0f, 1e-40f,      3.4e38f,     3.38e38f,    65504.0f};
    for (std::uint32_t i = 0; i < 20000; ++i) {
        const auto word = Philox4x32::generate({i, 0, 0, 0}, {1, 1})[0];
        const auto value = std::bit_cast<float>(i % 3 == 0 ? (word & 0xffff0000u) | 0x8000u : word);
        if (std::isfinite(value)) {
            values.push_back(value);
        }
    }
    std::vector<bfloat16> rounded(values.size());
    convert<float, bfloat16>(test_stream(), values, rounded);

    for (std::size_t i = 0; i < values.size(); ++i) {
        ASSERT_EQ(float(rounded[i]), nearest_bfloat16(values[i])) << values[i];
    }
}

TEST(Elementwise, KeepsInfinityAndNotANumber) {
    // A NaN with a payload only in the lower half would round to infinity by plain arithmetic.
    std::vector<float> values(37, std::bit_cast<float>(0x7f800001u));
    values[36] = std::numeric_limits<float>::infinity();
    std::vector<bfloat16> rounded(37);
    convert<float, bfloat16>(test_stream(), values, rounded);

    EXPECT_TRUE(std::isnan(float(rounded[0])));
    EXPECT_TRUE(std::isnan(float(rounded[35])));
    EXPECT_TRUE(std::isinf(float(rounded[36])));
}

TEST(Elementwise, RefusesLengthsThatDisagree) {
    std::vector<float> a(3), b(4);
    std::vector<bfloat16> c(4);
    EXPECT_THROW(add_to<float>(test_stream(), a, b), Error);
    EXPECT_THROW((convert<float, bfloat16>(test_stream(), a, c)), Error);
}

}  // namespace
}  // namespace ziggurat::kernels
