#include "kernels/norm/head_norm.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "tests/reference/head_norm.hpp"
#include "tests/support/kernel_data.hpp"

namespace ziggurat::kernels {
namespace {

using namespace test;

constexpr float epsilon = 1e-6f;
constexpr float gain_offset = 0.75f;

struct Case {
    std::int64_t rows;
    QkvHeads heads;
};

/// Heads that no vector, pack or group of lanes divides, and usual ones.
const Case cases[] = {{1, {1, 1, 1}},  {67, {3, 1, 10}},  {5, {6, 2, 40}},   {33, {4, 4, 64}},
                      {9, {2, 1, 80}}, {40, {8, 2, 128}}, {700, {2, 1, 24}}, {3, {3, 3, 256}}};

template <class T>
struct Data {
    explicit Data(const Case& of)
        : rows{of.rows},
          heads{of.heads},
          x{normal_values<T>(rows * heads.width(), 1, 2)},
          gain{normal_values<T>(2 * heads.head_dim, 3)},
          dx{normal_values<T>(rows * heads.width(), 5)} {}

    std::int64_t rows;
    QkvHeads heads;
    std::vector<T> x, gain, dx;
    std::vector<T> y = std::vector<T>(x.size());
    std::vector<float> d_gain = std::vector<float>(gain.size());
    std::vector<std::byte> workspace = column_sum_workspace(heads.head_dim);

    void forward(const device::Stream& stream) {
        head_norm_forward<T>(stream, heads, matrix(x, rows, heads.width()), row(gain), gain_offset, epsilon,
                             matrix(y, rows, heads.width()));
    }
    void backward(const device::Stream& stream, Accumulate accumulate) {
        head_norm_backward<T>(stream, heads, matrix(x, rows, heads.width()), row(gain), gain_offset, epsilon,
                              matrix(dx, rows, heads.width()), row(d_gain), accumulate, workspace);
    }
    /// Returns the gains of the reference, which has no offset.
    std::vector<double> gains() const {
        auto gains = doubles(gain);
        for (double& each : gains) {
            each += gain_offset;
        }
        return gains;
    }
    reference::Heads as_reference() const {
        return {static_cast<std::size_t>(heads.heads), static_cast<std::size_t>(heads.kv_heads),
                static_cast<std::size_t>(heads.head_dim)};
    }
    /// Returns the elements of the value heads.
    static std::vector<double> values_of(const std::vector<T>& qkv, const QkvHeads& heads) {
        std::vector<double> values;
        const auto first = (heads.heads + heads.kv_heads) * heads.head_dim;
        for (std::int64_t i = 0; i < std::ssize(qkv); ++i) {
            if (i % heads.width() >= first) {
                values.push_back(double(float(qkv[i])));
            }
        }
        return values;
    }
};

template <class T>
class HeadNorm : public ::testing::Test {};
using Types = ::testing::Types<float, tensor::bfloat16>;
TYPED_TEST_SUITE(HeadNorm, Types);

TYPED_TEST(HeadNorm, ForwardIsTheReference) {
    for (const auto& of : cases) {
        Data<TypeParam> data{of};

        data.forward(test_stream());

        const auto expected =
            reference::head_norm(doubles(data.x), data.gains(), data.as_reference(), epsilon);
        EXPECT_LT(relative_error(data.y, expected), bound<TypeParam>) << of.rows << 'x' << of.heads.head_dim;
        EXPECT_EQ(data.values_of(data.y, data.heads), data.values_of(data.x, data.heads)) << "not copied";
    }
}

TYPED_TEST(HeadNorm, BackwardIsTheReference) {
    for (const auto& of : cases) {
        Data<TypeParam> data{of};
        const auto before = data.dx;
        const auto expected = reference::head_norm_backward(doubles(data.x), doubles(data.dx), data.gains(),
                                                            data.as_reference(), epsilon);

        data.backward(test_stream(), Accumulate::no);

        EXPECT_LT(relative_error(data.dx, expected.x), bound<TypeParam>)
            << of.rows << 'x' << of.heads.head_dim;
        EXPECT_LT(relative_error(data.d_gain, expected.gain), 4e-6) << of.rows << 'x' << of.heads.head_dim;
        EXPECT_EQ(data.values_of(data.dx, data.heads), data.values_of(before, data.heads)) << "changed";
    }
}

TYPED_TEST(HeadNorm, AddsToGradientsWhenAsked) {
    Data<TypeParam> data{{67, {3, 1, 10}}};
    const auto dy = data.dx;
    data.backward(test_stream(), Accumulate::no);
    const auto once = data.d_gain;
    data.dx = dy;
    data.backward(test_stream(), Accumulate::yes);

    for (std::size_t c = 0; c < once.size(); ++c) {
        EXPECT_EQ(data.d_gain[c], 2 * once[c]);
    }
}

TYPED_TEST(HeadNorm, GivesTheSameBitsWhereTheGainIsFrozen) {
    Data<TypeParam> trained{{67, {3, 1, 10}}};
    Data<TypeParam> frozen{{67, {3, 1, 10}}};
    frozen.d_gain.clear();
    for (auto* data : {&trained, &frozen}) {
        data->backward(test_stream(), Accumulate::no);
    }

    EXPECT_EQ(doubles(frozen.dx), doubles(trained.dx));
}

TYPED_TEST(HeadNorm, HasTheSameBitsOnOneThread) {
    Data<TypeParam> two{{67, {5, 5, 37}}};
    Data<TypeParam> one{{67, {5, 5, 37}}};
    two.forward(test_stream());
    two.backward(test_stream(), Accumulate::yes);
    on_one_thread([&](const device::Stream& stream) {
        one.forward(stream);
        one.backward(stream, Accumulate::yes);
    });

    EXPECT_TRUE(same_bits(one.y, two.y));
    EXPECT_TRUE(same_bits(one.dx, two.dx));
    EXPECT_TRUE(same_bits(one.d_gain, two.d_gain));
}

TEST(HeadNormFloat, RefusesShapesThatDisagree) {
    Data<float> data{{3, {3, 1, 10}}};
    data.gain.pop_back();
    EXPECT_THROW(data.forward(test_stream()), Error);
    EXPECT_THROW(data.backward(test_stream(), Accumulate::no), Error);
}

TEST(HeadNormReference, BackwardIsTheFiniteDifference) {
    const reference::Heads heads{2, 1, 5};
    auto x = doubles(normal_values<float>(3 * 20, 1));
    auto gain = doubles(normal_values<float>(10, 2));
    const auto dy = doubles(normal_values<float>(3 * 20, 4));
    const auto value = [&] { return dot(reference::head_norm(x, gain, heads, epsilon), dy); };
    const auto d = reference::head_norm_backward(x, dy, gain, heads, epsilon);

    EXPECT_LE(gap_to_finite_differences(x, d.x, value), 1e-6);
    EXPECT_LE(gap_to_finite_differences(gain, d.gain, value), 1e-6);
}

}  // namespace
}  // namespace ziggurat::kernels
