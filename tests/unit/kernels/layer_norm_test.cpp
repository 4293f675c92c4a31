#include "kernels/norm/layer_norm.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "kernels/residual.hpp"
#include "tests/reference/layer_norm.hpp"
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
          bias{normal_values<T>(width, 4)},
          dy{normal_values<T>(rows * width, 5)},
          dx{normal_values<T>(rows * width, 6)} {}

    std::int64_t rows, width;
    std::vector<T> x, branch, gain, bias, dy, dx;
    std::vector<T> y = std::vector<T>(x.size());
    std::vector<float> mean = std::vector<float>(static_cast<std::size_t>(rows));
    std::vector<float> inv_std = mean;
    std::vector<float> d_gain = std::vector<float>(gain.size());
    std::vector<float> d_bias = d_gain;
    std::vector<std::byte> workspace = column_sum_workspace(width);

    void forward(const device::Stream& stream) {
        layer_norm_forward<T>(stream, matrix(x, rows, width), row(gain), row(bias), epsilon,
                              matrix(y, rows, width), row(mean), row(inv_std));
    }
    void backward(const device::Stream& stream,
                  Accumulate accumulate,
                  Accumulate add_to_dx = Accumulate::yes) {
        layer_norm_backward<T>(stream, matrix(x, rows, width), matrix(dy, rows, width), row(gain), row(mean),
                               row(inv_std), matrix(dx, rows, width), add_to_dx, row(d_gain), row(d_bias),
                               accumulate, workspace);
    }
};

template <class T>
class LayerNorm : public ::testing::Test {};
using Types = ::testing::Types<float, tensor::bfloat16>;
TYPED_TEST_SUITE(LayerNorm, Types);

TYPED_TEST(LayerNorm, ForwardIsTheReference) {
    for (const auto extents : norm_extents()) {
        Data<TypeParam> data{extents};

        data.forward(test_stream());

        const auto expected =
            reference::layer_norm(doubles(data.x), doubles(data.gain), doubles(data.bias), epsilon);
        EXPECT_LT(relative_error(data.y, expected), bound<TypeParam>) << extents.rows << 'x' << extents.width;
    }
}

TYPED_TEST(LayerNorm, BackwardIsTheReferenceOnTopOfTheResidual) {
    for (const auto extents : norm_extents()) {
        Data<TypeParam> data{extents};
        auto expected =
            reference::layer_norm_backward(doubles(data.x), doubles(data.dy), doubles(data.gain), epsilon);
        for (std::size_t i = 0; i < data.dx.size(); ++i) {
            expected.x[i] += double(float(data.dx[i]));
        }

        data.forward(test_stream());
        data.backward(test_stream(), Accumulate::no);

        EXPECT_LT(relative_error(data.dx, expected.x), bound<TypeParam>)
            << extents.rows << 'x' << extents.width;
        EXPECT_LT(relative_error(data.d_gain, expected.gain), 1e-6);
        EXPECT_LT(relative_error(data.d_bias, expected.bias), 1e-6);
    }
}

TYPED_TEST(LayerNorm, WritesDxWithTheBitsOfASumWithZeros) {
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
        EXPECT_EQ(written.d_bias, added.d_bias);
    }
}

TYPED_TEST(LayerNorm, AddsToGradientsWhenAsked) {
    Data<TypeParam> data{{67, 37}};
    data.forward(test_stream());
    data.backward(test_stream(), Accumulate::no);
    auto once = data.d_gain;
    data.backward(test_stream(), Accumulate::yes);

    for (std::size_t c = 0; c < once.size(); ++c) {
        EXPECT_EQ(data.d_gain[c], 2 * once[c]);
    }
}

TYPED_TEST(LayerNorm, GivesTheSameBitsWhereGainOrBiasAreFrozen) {
    Data<TypeParam> all{{67, 37}};
    Data<TypeParam> frozen_gain{{67, 37}};
    Data<TypeParam> frozen{{67, 37}};
    frozen_gain.d_gain.clear();
    frozen.d_gain.clear();
    frozen.d_bias.clear();
    for (auto* data : {&all, &frozen_gain, &frozen}) {
        data->forward(test_stream());
        data->backward(test_stream(), Accumulate::no);
    }

    EXPECT_EQ(doubles(frozen_gain.dx), doubles(all.dx));
    EXPECT_EQ(doubles(frozen.dx), doubles(all.dx));
    EXPECT_EQ(frozen_gain.d_bias, all.d_bias);
}

TYPED_TEST(LayerNorm, ResidualFormIsAdditionThenNorm) {
    for (const auto extents : norm_extents()) {
        Data<TypeParam> data{extents};
        std::vector<TypeParam> sum;
        for (std::size_t i = 0; i < data.x.size(); ++i) {
            sum.push_back(TypeParam(float(data.x[i]) + float(data.branch[i])));
        }
        Data<TypeParam> plain{extents};
        plain.x = sum;
        plain.forward(test_stream());
        const auto x = matrix(data.x, data.rows, data.width);

        residual_layer_norm_forward<TypeParam>(
            test_stream(), x, matrix(data.branch, data.rows, data.width), {}, row(data.gain), row(data.bias),
            epsilon, x, matrix(data.y, data.rows, data.width), row(data.mean), row(data.inv_std));

        EXPECT_TRUE(same_bits(data.x, sum));
        EXPECT_TRUE(same_bits(data.y, plain.y));
        EXPECT_TRUE(same_bits(data.mean, plain.mean));
        EXPECT_TRUE(same_bits(data.inv_std, plain.inv_std));
    }
}

TYPED_TEST(LayerNorm, ResidualFormDropsWhatTheResidualDoes) {
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

        residual_layer_norm_forward<TypeParam>(test_stream(), x, matrix(data.branch, data.rows, data.width),
                                               dropout, row(data.gain), row(data.bias), epsilon, x,
                                               matrix(data.y, data.rows, data.width), row(data.mean),
                                               row(data.inv_std));

        EXPECT_TRUE(same_bits(data.x, plain.x));
        EXPECT_TRUE(same_bits(data.y, plain.y));
    }
}

TYPED_TEST(LayerNorm, WritesItsRowsAloneAtAnyAddress) {
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

            layer_norm_forward<TypeParam>(test_stream(), x, row(moved.gain), row(moved.bias), epsilon, y,
                                          row(moved.mean), row(moved.inv_std));
            layer_norm_backward<TypeParam>(test_stream(), x, dy, row(moved.gain), row(moved.mean),
                                           row(moved.inv_std), dx, Accumulate::yes, row(moved.d_gain),
                                           row(moved.d_bias), Accumulate::no, moved.workspace);

            EXPECT_EQ(moved.inv_std, data.inv_std);
            EXPECT_EQ(moved.d_gain, data.d_gain);
            EXPECT_EQ(moved.d_bias, data.d_bias);
            spare(data.y);
            spare(data.dx);
            EXPECT_TRUE(same_bits(moved.y, data.y)) << width << '+' << shift;
            EXPECT_TRUE(same_bits(moved.dx, data.dx)) << width << '+' << shift;
        }
    }
}

TYPED_TEST(LayerNorm, HasTheSameBitsOnOneThread) {
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
    EXPECT_TRUE(same_bits(one.d_bias, two.d_bias));
}

TEST(LayerNormFloat, KeepsPrecisionFarFromZero) {
    Data<float> data{{3, 129}};
    for (auto& x : data.x) {
        x += 1000;
    }
    data.forward(test_stream());

    const auto expected =
        reference::layer_norm(doubles(data.x), doubles(data.gain), doubles(data.bias), epsilon);
    EXPECT_LT(relative_error(data.y, expected), 1e-4);
}

TEST(LayerNormFloat, RefusesShapesThatDisagreeAndAShortWorkspace) {
    Data<float> data{{3, 37}};
    data.gain.pop_back();
    EXPECT_THROW(data.forward(test_stream()), Error);

    Data<float> other{{3, 37}};
    other.workspace.resize(other.workspace.size() - 4);
    EXPECT_THROW(other.backward(test_stream(), Accumulate::no), Error);
}

TEST(LayerNormReference, BackwardIsTheFiniteDifference) {
    auto x = doubles(normal_values<float>(3 * 7, 1));
    auto gain = doubles(normal_values<float>(7, 2));
    auto bias = doubles(normal_values<float>(7, 3));
    const auto dy = doubles(normal_values<float>(3 * 7, 4));
    const auto value = [&] { return dot(reference::layer_norm(x, gain, bias, epsilon), dy); };
    const auto d = reference::layer_norm_backward(x, dy, gain, epsilon);

    EXPECT_LE(gap_to_finite_differences(x, d.x, value), 1e-7);
    EXPECT_LE(gap_to_finite_differences(gain, d.gain, value), 1e-7);
    EXPECT_LE(gap_to_finite_differences(bias, d.bias, value), 1e-7);
}

}  // namespace
}  // namespace ziggurat::kernels
