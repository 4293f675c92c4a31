#include "kernels/norm/rms_norm.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "base/error.hpp"
#include "kernels/residual.hpp"
#include "tests/reference/rms_norm.hpp"
#include "tests/support/kernel_data.hpp"

namespace ziggurat::kernels {
namespace {

using namespace test;

constexpr float epsilon = 1e-5f;

/// Bound for gradients of the gain.
///
/// A row's rms is a sum of up to 2065 floats, which compilers split into one part per element of a vector.
/// With bfloat16 and vectors of eight, errors of 2e-6 were measured.
template <class T>
constexpr double gain_bound = 1e-6;
template <>
constexpr double gain_bound<tensor::bfloat16> = 4e-6;

template <class T>
struct Data {
    explicit Data(Extents extents, float offset = 0)
        : rows{extents.rows},
          width{extents.width},
          gain_offset{offset},
          x{normal_values<T>(rows * width, 1, 2)},
          branch{normal_values<T>(rows * width, 2)},
          gain{normal_values<T>(width, 3)},
          dy{normal_values<T>(rows * width, 5)},
          dx{normal_values<T>(rows * width, 6)} {}

    std::int64_t rows, width;
    float gain_offset;
    std::vector<T> x, branch, gain, dy, dx;
    std::vector<T> y = std::vector<T>(x.size());
    std::vector<float> inv_rms = std::vector<float>(static_cast<std::size_t>(rows));
    std::vector<float> d_gain = std::vector<float>(gain.size());
    std::vector<std::byte> workspace = column_sum_workspace(width);

    /// Returns the gains of the reference, which has no offset.
    std::vector<double> gains() const {
        auto gains = doubles(gain);
        for (double& each : gains) {
            each += gain_offset;
        }
        return gains;
    }
    void forward(const device::Stream& stream) {
        rms_norm_forward<T>(stream, matrix(x, rows, width), row(gain), gain_offset, epsilon,
                            matrix(y, rows, width), row(inv_rms));
    }
    void backward(const device::Stream& stream,
                  Accumulate accumulate,
                  Accumulate add_to_dx = Accumulate::yes) {
        rms_norm_backward<T>(stream, matrix(x, rows, width), matrix(dy, rows, width), row(gain), gain_offset,
                             row(inv_rms), matrix(dx, rows, width), add_to_dx, row(d_gain), accumulate,
                             workspace);
    }
};

template <class T>
class RmsNorm : public ::testing::Test {};
using Types = ::testing::Types<float, tensor::bfloat16>;
TYPED_TEST_SUITE(RmsNorm, Types);

TYPED_TEST(RmsNorm, ForwardIsTheReference) {
    for (const auto extents : norm_extents()) {
        for (const float offset : {0.0f, 1.0f}) {
            Data<TypeParam> data{extents, offset};

            data.forward(test_stream());

            const auto expected = reference::rms_norm(doubles(data.x), data.gains(), epsilon);
            EXPECT_LT(relative_error(data.y, expected), bound<TypeParam>)
                << extents.rows << 'x' << extents.width << ", offset " << offset;
        }
    }
}

TYPED_TEST(RmsNorm, BackwardIsTheReferenceOnTopOfTheResidual) {
    for (const auto extents : norm_extents()) {
        for (const float offset : {0.0f, 1.0f}) {
            Data<TypeParam> data{extents, offset};
            auto expected =
                reference::rms_norm_backward(doubles(data.x), doubles(data.dy), data.gains(), epsilon);
            for (std::size_t i = 0; i < data.dx.size(); ++i) {
                expected.x[i] += double(float(data.dx[i]));
            }

            data.forward(test_stream());
            data.backward(test_stream(), Accumulate::no);

            EXPECT_LT(relative_error(data.dx, expected.x), bound<TypeParam>)
                << extents.rows << 'x' << extents.width << ", offset " << offset;
            EXPECT_LT(relative_error(data.d_gain, expected.gain), gain_bound<TypeParam>);
        }
    }
}

TYPED_TEST(RmsNorm, WritesDxWithTheBitsOfASumWithZeros) {
    for (const auto extents : norm_extents()) {
        Data<TypeParam> added{extents};
        Data<TypeParam> written{extents};
        std::ranges::fill(added.dx, TypeParam(0.0f));
        std::ranges::fill(written.dx, TypeParam(NAN));
        for (auto* data : {&added, &written}) {
            data->forward(test_stream());
        }

        added.backward(test_stream(), Accumulate::no, Accumulate::yes);
        written.backward(test_stream(), Accumulate::no, Accumulate::no);

        EXPECT_TRUE(same_bits(written.dx, added.dx)) << extents.rows << 'x' << extents.width;
        EXPECT_EQ(written.d_gain, added.d_gain);
    }
}

TYPED_TEST(RmsNorm, AddsToGradientsWhenAsked) {
    Data<TypeParam> data{{67, 37}};
    data.forward(test_stream());
    data.backward(test_stream(), Accumulate::no);
    const auto once = data.d_gain;
    data.backward(test_stream(), Accumulate::yes);

    for (std::size_t c = 0; c < once.size(); ++c) {
        EXPECT_EQ(data.d_gain[c], 2 * once[c]);
    }
}

TYPED_TEST(RmsNorm, GivesTheSameBitsWhereTheGainIsFrozen) {
    Data<TypeParam> trained{{67, 37}};
    Data<TypeParam> frozen{{67, 37}};
    frozen.d_gain.clear();
    for (auto* data : {&trained, &frozen}) {
        data->forward(test_stream());
        data->backward(test_stream(), Accumulate::no);
    }

    EXPECT_EQ(doubles(frozen.dx), doubles(trained.dx));
}

TYPED_TEST(RmsNorm, ResidualFormIsAdditionThenNorm) {
    for (const auto extents : norm_extents()) {
        for (const float factor : {1.0f, 0.22f}) {
            Data<TypeParam> data{extents};
            Data<TypeParam> plain{extents};
            for (std::size_t i = 0; i < data.x.size(); ++i) {
                plain.x[i] = TypeParam(std::fma(float(data.branch[i]), factor, float(data.x[i])));
            }
            plain.forward(test_stream());
            const auto x = matrix(data.x, data.rows, data.width);

            residual_rms_norm_forward<TypeParam>(test_stream(), x, matrix(data.branch, data.rows, data.width),
                                                 {.factor = factor}, row(data.gain), data.gain_offset,
                                                 epsilon, x, matrix(data.y, data.rows, data.width),
                                                 row(data.inv_rms));

            EXPECT_TRUE(same_bits(data.x, plain.x));
            EXPECT_TRUE(same_bits(data.y, plain.y));
            EXPECT_TRUE(same_bits(data.inv_rms, plain.inv_rms));
        }
    }
}

TYPED_TEST(RmsNorm, ResidualFormDropsWhatTheResidualDoes) {
    for (const auto extents : {Extents{6, 129}, Extents{4, 2064}}) {
        Data<TypeParam> data{extents};
        Data<TypeParam> plain{extents};
        const std::vector<std::int64_t> samples{7, 9};
        const StepInputs inputs{.step = 3};
        const Dropout dropout{.probability = 0.25f,
                              .seed = 11,
                              .purpose = 2,
                              .samples = samples,
                              .sequence = data.rows / 2,
                              .inputs = &inputs};
        const auto plain_x = matrix(plain.x, data.rows, data.width);
        residual_forward<TypeParam>(test_stream(), plain_x, matrix(plain.branch, data.rows, data.width),
                                    dropout, plain_x);
        plain.forward(test_stream());
        const auto x = matrix(data.x, data.rows, data.width);

        residual_rms_norm_forward<TypeParam>(test_stream(), x, matrix(data.branch, data.rows, data.width),
                                             dropout, row(data.gain), data.gain_offset, epsilon, x,
                                             matrix(data.y, data.rows, data.width), row(data.inv_rms));

        EXPECT_TRUE(same_bits(data.x, plain.x));
        EXPECT_TRUE(same_bits(data.y, plain.y));
    }
}

TYPED_TEST(RmsNorm, WritesItsRowsAloneAtAnyAddress) {
    constexpr std::int64_t rows = 3;
    for (const std::int64_t width : {24, 37}) {
        for (const std::int64_t shift : {0, 1}) {
            Data<TypeParam> data{{rows, width}};
            const auto spare = [&](std::vector<TypeParam>& values) -> tensor::TensorRef<TypeParam, 2> {
                values.insert(values.begin(), static_cast<std::size_t>(shift), TypeParam(5.0f));
                values.insert(values.end(), 9, TypeParam(5.0f));
                return {values.data() + shift, {rows, width}};
            };
            Data<TypeParam> moved{{rows, width}};
            data.forward(test_stream());
            data.backward(test_stream(), Accumulate::no);
            const auto x = spare(moved.x);
            const auto y = spare(moved.y);
            const auto dy = spare(moved.dy);
            const auto dx = spare(moved.dx);

            rms_norm_forward<TypeParam>(test_stream(), x, row(moved.gain), moved.gain_offset, epsilon, y,
                                        row(moved.inv_rms));
            rms_norm_backward<TypeParam>(test_stream(), x, dy, row(moved.gain), moved.gain_offset,
                                         row(moved.inv_rms), dx, Accumulate::yes, row(moved.d_gain),
                                         Accumulate::no, moved.workspace);

            EXPECT_EQ(moved.inv_rms, data.inv_rms);
            EXPECT_EQ(moved.d_gain, data.d_gain);
            spare(data.y);
            spare(data.dx);
            EXPECT_TRUE(same_bits(moved.y, data.y)) << width << '+' << shift;
            EXPECT_TRUE(same_bits(moved.dx, data.dx)) << width << '+' << shift;
        }
    }
}

TYPED_TEST(RmsNorm, HasTheSameBitsOnOneThread) {
    Data<TypeParam> two{{67, 129}};
    Data<TypeParam> one{{67, 129}};
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

TEST(RmsNormFloat, RefusesShapesThatDisagree) {
    Data<float> data{{3, 37}};
    data.inv_rms.pop_back();
    EXPECT_THROW(data.forward(test_stream()), Error);
}

TEST(RmsNormReference, BackwardIsTheFiniteDifference) {
    auto x = doubles(normal_values<float>(3 * 7, 1));
    auto gain = doubles(normal_values<float>(7, 2));
    const auto dy = doubles(normal_values<float>(3 * 7, 4));
    const auto value = [&] { return dot(reference::rms_norm(x, gain, epsilon), dy); };
    const auto d = reference::rms_norm_backward(x, dy, gain, epsilon);

    EXPECT_LE(gap_to_finite_differences(x, d.x, value), 1e-7);
    EXPECT_LE(gap_to_finite_differences(gain, d.gain, value), 1e-7);
}

}  // namespace
}  // namespace ziggurat::kernels
