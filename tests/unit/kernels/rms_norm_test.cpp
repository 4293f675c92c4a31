#include "kernels/rms_norm.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "tests/reference/rms_norm.hpp"
#include "tests/support/kernel_data.hpp"

namespace ziggurat::kernels {
namespace {

using namespace test;

constexpr float epsilon = 1e-5f;

template <class T>
struct Data {
    explicit Data(Extents extents)
        : rows{extents.rows},
          width{extents.width},
          x{normal_values<T>(rows * width, 1, 2)},
          branch{normal_values<T>(rows * width, 2)},
          gain{normal_values<T>(width, 3)},
          dy{normal_values<T>(rows * width, 5)},
          dx{normal_values<T>(rows * width, 6)} {}

    std::int64_t rows, width;
    std::vector<T> x, branch, gain, dy, dx;
    std::vector<T> y = std::vector<T>(x.size());
    std::vector<float> inv_rms = std::vector<float>(static_cast<std::size_t>(rows));
    std::vector<float> d_gain = std::vector<float>(gain.size());
    std::vector<std::byte> workspace = column_sum_workspace(width);

    void forward(const device::Stream& stream) {
        rms_norm_forward<T>(stream, matrix(x, rows, width), row(gain), epsilon, matrix(y, rows, width),
                            row(inv_rms));
    }
    void backward(const device::Stream& stream, Accumulate accumulate) {
        rms_norm_backward<T>(stream, matrix(x, rows, width), matrix(dy, rows, width), row(gain), row(inv_rms),
                             matrix(dx, rows, width), row(d_gain), accumulate, workspace);
    }
};

template <class T>
class RmsNorm : public ::testing::Test {};
using Types = ::testing::Types<float, tensor::bfloat16>;
TYPED_TEST_SUITE(RmsNorm, Types);

TYPED_TEST(RmsNorm, ForwardIsTheReference) {
    for (const auto extents : odd_extents) {
        Data<TypeParam> data{extents};

        data.forward(two_threads);

        const auto expected = reference::rms_norm(doubles(data.x), doubles(data.gain), epsilon);
        EXPECT_LT(relative_error(data.y, expected), bound<TypeParam>) << extents.rows << 'x' << extents.width;
    }
}

TYPED_TEST(RmsNorm, BackwardIsTheReferenceOnTopOfTheResidual) {
    for (const auto extents : odd_extents) {
        Data<TypeParam> data{extents};
        auto expected =
            reference::rms_norm_backward(doubles(data.x), doubles(data.dy), doubles(data.gain), epsilon);
        for (std::size_t i = 0; i < data.dx.size(); ++i) {
            expected.x[i] += double(float(data.dx[i]));
        }

        data.forward(two_threads);
        data.backward(two_threads, Accumulate::no);

        EXPECT_LT(relative_error(data.dx, expected.x), bound<TypeParam>)
            << extents.rows << 'x' << extents.width;
        EXPECT_LT(relative_error(data.d_gain, expected.gain), 1e-6);
    }
}

TYPED_TEST(RmsNorm, AddsToGradientsWhenAsked) {
    Data<TypeParam> data{{67, 37}};
    data.forward(two_threads);
    data.backward(two_threads, Accumulate::no);
    const auto once = data.d_gain;
    data.backward(two_threads, Accumulate::yes);

    for (std::size_t c = 0; c < once.size(); ++c) {
        EXPECT_EQ(data.d_gain[c], 2 * once[c]);
    }
}

TYPED_TEST(RmsNorm, GivesTheSameBitsWhereTheGainIsFrozen) {
    Data<TypeParam> trained{{67, 37}};
    Data<TypeParam> frozen{{67, 37}};
    frozen.d_gain.clear();
    for (auto* data : {&trained, &frozen}) {
        data->forward(two_threads);
        data->backward(two_threads, Accumulate::no);
    }

    EXPECT_EQ(doubles(frozen.dx), doubles(trained.dx));
}

TYPED_TEST(RmsNorm, ResidualFormIsAdditionThenNorm) {
    for (const auto extents : odd_extents) {
        Data<TypeParam> data{extents};
        Data<TypeParam> plain{extents};
        for (std::size_t i = 0; i < data.x.size(); ++i) {
            plain.x[i] = TypeParam(float(data.x[i]) + float(data.branch[i]));
        }
        plain.forward(two_threads);
        const auto x = matrix(data.x, data.rows, data.width);

        residual_rms_norm_forward<TypeParam>(two_threads, x, matrix(data.branch, data.rows, data.width), {},
                                             row(data.gain), epsilon, x,
                                             matrix(data.y, data.rows, data.width), row(data.inv_rms));

        EXPECT_TRUE(same_bits(data.x, plain.x));
        EXPECT_TRUE(same_bits(data.y, plain.y));
        EXPECT_TRUE(same_bits(data.inv_rms, plain.inv_rms));
    }
}

TYPED_TEST(RmsNorm, HasTheSameBitsOnOneThread) {
    Data<TypeParam> two{{67, 129}};
    Data<TypeParam> one{{67, 129}};
    two.forward(two_threads);
    two.backward(two_threads, Accumulate::yes);
    on_one_thread([&](const device::Stream& stream) {
        one.forward(stream);
        one.backward(stream, Accumulate::yes);
    });

    EXPECT_TRUE(same_bits(one.y, two.y));
    EXPECT_TRUE(same_bits(one.dx, two.dx));
    EXPECT_TRUE(same_bits(one.d_gain, two.d_gain));
}

TEST(RmsNormFloat, RefusesShapesThatDisagree) {
    Data<float> data{{3, 37}};
    data.inv_rms.pop_back();
    EXPECT_THROW(data.forward(two_threads), Error);
}

TEST(RmsNormReference, BackwardIsTheFiniteDifference) {
    auto x = doubles(normal_values<float>(3 * 7, 1));
    auto gain = doubles(normal_values<float>(7, 2));
    const auto dy = doubles(normal_values<float>(3 * 7, 4));
    const auto value = [&] { return dot(reference::rms_norm(x, gain, epsilon), dy); };
    const auto d = reference::rms_norm_backward(x, dy, gain, epsilon);

    for (std::size_t i = 0; i < x.size(); ++i) {
        EXPECT_NEAR(finite_difference(x[i], value), d.x[i], 1e-7);
    }
    for (std::size_t i = 0; i < gain.size(); ++i) {
        EXPECT_NEAR(finite_difference(gain[i], value), d.gain[i], 1e-7);
    }
}

}  // namespace
}  // namespace ziggurat::kernels
