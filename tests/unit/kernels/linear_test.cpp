#include "kernels/linear.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>

#include "base/error.hpp"
#include "device/arena.hpp"
#include "tests/reference/gelu.hpp"
#include "tests/reference/linear.hpp"
#include "tests/unit/kernels/linear_layer.hpp"

namespace ziggurat::kernels {
namespace {

using tensor::bfloat16;
template <class T>
using Layer = test::LinearLayer<T>;

const LinearShape odd_shapes[] = {{1, 1, 1, true},     {1, 37, 5, false},   {3, 5, 37, true},
                                  {33, 64, 48, true},  {67, 100, 65, true}, {129, 33, 17, false},
                                  {5, 768, 257, true}, {257, 16, 1, true}};

/// Skips the rest of a test that checks a guarantee of the host only.
#define ZG_SKIP_OF_HOST()                                        \
    if (test::tests_on_cuda()) {                                 \
        GTEST_SKIP() << "GPUs promise that for one shape alone"; \
    }

template <class T>
class LinearTest : public ::testing::Test {};
using ComputeTypes = ::testing::Types<float, bfloat16>;
TYPED_TEST_SUITE(LinearTest, ComputeTypes);

/// Returns the bound for sums of floats that a GPU computes sequentially, and the host in several
/// parts.
double bound_of_sums() {
    return test::tests_on_cuda() ? 2e-6 : 1e-6;
}

template <class Value>
std::vector<Value> plus(std::vector<Value> values, Value summand) {
    for (auto& value : values) {
        value += summand;
    }
    return values;
}

TYPED_TEST(LinearTest, IsTheProductOfTheReference) {
    for (auto shape : odd_shapes) {
        SCOPED_TRACE(testing::Message() << shape.rows << " " << shape.in << " " << shape.out);
        shape.is_tile = true;
        const Layer<TypeParam> layer{shape, 2};
        const auto in = static_cast<std::size_t>(shape.in);
        const auto x = test::doubles(layer.x), w = test::doubles(layer.w), dy = test::doubles(layer.dy);
        std::vector<double> dx(x.size()), dw(w.size());
        reference::linear_backward(x, w, dy, in, dx, dw);
        const auto y = reference::linear(x, w, test::doubles(layer.bias), in);
        const auto exact = bound_of_sums(), rounded = std::max(exact, test::bound<TypeParam>);

        EXPECT_LT(test::relative_error(layer.forward(), y), rounded);
        EXPECT_LT(test::relative_error(layer.backward_input(), dx), rounded);
        EXPECT_LT(test::relative_error(layer.backward_input_sum(Accumulate::no, 3), dx), exact);
        EXPECT_LT(test::relative_error(layer.backward_input_sum(Accumulate::yes, 3), plus(dx, 3.0)), exact);
        EXPECT_LT(test::relative_error(layer.backward_weight(Accumulate::no, 3), dw), exact);
        EXPECT_LT(test::relative_error(layer.backward_weight(Accumulate::yes, 3), plus(dw, 3.0)), exact);
    }
}

TYPED_TEST(LinearTest, OfFewRowsReadsTheWeightInPlace) {
    const LinearShape shapes[] = {{1, 1, 1, true},     {1, 37, 3, false},   {2, 64, 5, true},
                                  {3, 100, 66, false}, {4, 768, 257, true}, {5, 16, 4, true},
                                  {8, 33, 130, false}};
    for (auto shape : shapes) {
        SCOPED_TRACE(testing::Message() << shape.rows << " " << shape.in << " " << shape.out);
        shape.is_in_place = true;
        const Layer<TypeParam> layer{shape, 2};
        EXPECT_EQ(layer.linear.packed_bytes(Packing::forward), 0);
        const auto y = reference::linear(test::doubles(layer.x), test::doubles(layer.w),
                                         test::doubles(layer.bias), static_cast<std::size_t>(shape.in));
        EXPECT_LT(test::relative_error(layer.forward(), y),
                  std::max(bound_of_sums(), test::bound<TypeParam>));
        if (!test::tests_on_cuda()) {
            EXPECT_THROW(layer.backward_input(), Error);
        }
    }
}

TYPED_TEST(LinearTest, WithAnAddendIsTheSumOfBoth) {
    for (const auto& shape : odd_shapes) {
        const Layer<TypeParam> layer{shape, 2};
        auto sum = reference::linear(test::doubles(layer.x), test::doubles(layer.w),
                                     test::doubles(layer.bias), static_cast<std::size_t>(shape.in));
        std::ranges::transform(sum, test::doubles(layer.dy), sum.begin(), std::plus{});

        const auto y = layer.forward_added();

        EXPECT_LT(test::relative_error(y, sum), 2 * std::max(bound_of_sums(), test::bound<TypeParam>));
        EXPECT_TRUE(test::same_bits(y, layer.forward_added()));
    }
}

TYPED_TEST(LinearTest, WithGeluIsTheProductAndGeluOfTheReference) {
    const LinearShape shapes[] = {
        {33, 64, 48, true}, {5, 40, 16, true}, {7, 48, 24, false}, {3, 5, 37, true}};
    for (auto shape : shapes) {  // cuBLASLt lacks that epilogue for the last shape, and without bias
        SCOPED_TRACE(testing::Message() << shape.rows << " " << shape.in << " " << shape.out);
        shape.with_gelu = true;
        const Layer<TypeParam> layer{shape, 2};
        const auto in = static_cast<std::size_t>(shape.in);
        const auto x = test::doubles(layer.x), w = test::doubles(layer.w);
        std::vector<double> dx(x.size()), dw(w.size());
        reference::linear_backward(x, w, test::doubles(layer.dy), in, dx, dw);
        for (std::size_t i = 0; i < dx.size(); ++i) {
            dx[i] *= reference::gelu_derivative(x[i]);
        }
        const auto before = reference::linear(x, w, test::doubles(layer.bias), in);
        auto after = before;
        std::ranges::transform(before, after.begin(), reference::gelu);
        const auto bound = 2 * std::max(bound_of_sums(), test::bound<TypeParam>);

        const auto activated = layer.forward_gelu();
        EXPECT_LT(test::relative_error(activated.before, before), bound);
        EXPECT_LT(test::relative_error(activated.after, after), bound);
        EXPECT_LT(test::relative_error(layer.backward_input_gelu(), dx), bound);
        EXPECT_TRUE(test::same_bits(layer.forward_gelu().after, activated.after));
    }
}

TYPED_TEST(LinearTest, HasTheSameBitsWhereverItsShapeOccurs) {
    for (const auto& shape : odd_shapes) {
        const Layer<TypeParam> one{shape, 2}, other{shape, 2};
        const auto y = one.forward();
        EXPECT_TRUE(test::same_bits(y, one.forward()));
        EXPECT_TRUE(test::same_bits(y, other.forward()));
        EXPECT_TRUE(test::same_bits(one.backward_input(), other.backward_input()));
        EXPECT_TRUE(test::same_bits(one.backward_weight(Accumulate::yes, 1),
                                    other.backward_weight(Accumulate::yes, 1)));
    }
}

TYPED_TEST(LinearTest, TakesRowsOfAWeightWhereTheyLie) {
    constexpr std::int64_t rows = 9, in = 37, first = 16, out = 21;
    const Layer<TypeParam> whole{{rows, in, first + out, true}, 2};
    const Layer<TypeParam> tile{{rows, in, out, true, true}, 2};
    const auto x = whole.put(whole.x), w = whole.put(whole.w), bias = whole.put(whole.bias);
    auto y = whole.put(std::vector<TypeParam>(rows * out));
    auto dw = whole.put(std::vector<float>(whole.w.size(), 2.0f));
    auto scratch = tile.workspace();

    tile.linear.forward(whole.stream, x.matrix(rows, in),
                        w.vector().part(first * in, out * in).template reshaped<2>({out, in}),
                        bias.vector().part(first, out), y.matrix(rows, out), scratch.vector());
    tile.linear.backward_weight(whole.stream, x.matrix(rows, in), y.matrix(rows, out),
                                dw.vector().part(first * in, out * in).template reshaped<2>({out, in}),
                                Accumulate::yes, scratch.vector());
    const auto expected = whole.forward();
    std::vector<double> columns;
    for (std::size_t at = 0; at < expected.size(); ++at) {
        if (at % (first + out) >= first) {
            columns.push_back(double(float(expected[at])));
        }
    }
    const auto gradient = dw.values();

    EXPECT_LT(test::relative_error(y.values(), columns), 2 * test::bound<TypeParam>);
    EXPECT_EQ(std::count(gradient.begin(), gradient.begin() + first * in, 2.0f), first * in);
    EXPECT_NE(gradient[static_cast<std::size_t>(first * in)], 2.0f);
}

TYPED_TEST(LinearTest, HasTheSameBitsForAnyNumberOfThreads) {
    ZG_SKIP_OF_HOST();
    for (const LinearShape shape : {LinearShape{67, 100, 65, true}, LinearShape{2100, 48, 320, false},
                                    LinearShape{2048, 16, 3072, true}}) {
        Layer<TypeParam> one{shape, 1};
        const auto y = one.forward();
        const auto dx = one.backward_input();
        const auto dw = one.backward_weight(Accumulate::yes, 1);
        for (const int threads : {2, 3, 8}) {
            Layer<TypeParam> layer{shape, threads};
            EXPECT_TRUE(test::same_bits(layer.forward(), y)) << threads;
            EXPECT_TRUE(test::same_bits(layer.backward_input(), dx)) << threads;
            EXPECT_TRUE(test::same_bits(layer.backward_weight(Accumulate::yes, 1), dw)) << threads;
        }
    }
}

TYPED_TEST(LinearTest, GivesARowTheSameBitsInASmallerCall) {
    ZG_SKIP_OF_HOST();
    for (const auto& shape : odd_shapes) {
        Layer<TypeParam> whole{shape, 2};
        const auto y = whole.forward();
        const auto dx = whole.backward_input();
        for (const std::int64_t rows : {std::int64_t{1}, (shape.rows + 1) / 2, shape.rows}) {
            Layer<TypeParam> part{{rows, shape.in, shape.out, shape.has_bias}, 2};
            const auto part_y = part.forward();
            const auto part_dx = part.backward_input();
            EXPECT_TRUE(std::equal(part_y.begin(), part_y.end(), y.begin())) << rows << " of " << shape.rows;
            EXPECT_TRUE(std::equal(part_dx.begin(), part_dx.end(), dx.begin()))
                << rows << " of " << shape.rows;
        }
    }
}

TYPED_TEST(LinearTest, GivesTheSameBitsWithAWeightThatAnotherShapePacked) {
    if (test::tests_on_cuda()) {
        GTEST_SKIP() << "GPUs pack nothing";
    }
    for (const auto& shape : odd_shapes) {
        const Layer<TypeParam> layer{shape, 2};
        const Linear<TypeParam> packer{device::Stream{3}, {7, shape.in, shape.out, false}};
        const auto w = layer.put(layer.w), x = layer.put(layer.x), dy = layer.put(layer.dy);
        const auto bias = layer.put(layer.bias);
        auto scratch = layer.workspace();
        const auto max = layout::HostWorkspaces{sizeof(TypeParam), 1}.packed_weight(shape.in, shape.out);
        const std::vector<std::byte> room(static_cast<std::size_t>(max));
        const auto forward = layer.put(room), backward = layer.put(room);
        auto y = layer.put(std::vector<TypeParam>(layer.dy.size()));
        auto dx = layer.put(std::vector<TypeParam>(layer.x.size()));

        packer.pack(layer.stream, Packing::forward, w.matrix(shape.out, shape.in), forward.vector());
        packer.pack(layer.stream, Packing::backward_input, w.matrix(shape.out, shape.in), backward.vector());
        layer.linear.forward_packed(layer.stream, x.matrix(shape.rows, shape.in), forward.vector(),
                                    bias.vector(), y.matrix(shape.rows, shape.out), scratch.vector());
        layer.linear.backward_input_packed(layer.stream, dy.matrix(shape.rows, shape.out), backward.vector(),
                                           dx.matrix(shape.rows, shape.in), scratch.vector());

        EXPECT_TRUE(test::same_bits(y.values(), layer.forward()));
        EXPECT_TRUE(test::same_bits(dx.values(), layer.backward_input()));
    }
}

TYPED_TEST(LinearTest, PacksNothingOnAGpu) {
    if (!test::tests_on_cuda()) {
        GTEST_SKIP() << "ZIGGURAT_TEST_DEVICE is not cuda";
    }
    const Layer<TypeParam> layer{{8, 16, 32, false}, 2};
    const auto x = layer.put(layer.x), w = layer.put(layer.w);
    const auto y = layer.put(std::vector<TypeParam>(layer.dy.size()));
    const auto scratch = layer.workspace();

    EXPECT_EQ(layer.linear.packed_bytes(Packing::forward), 0);
    EXPECT_EQ(layer.linear.packed_bytes(Packing::backward_input), 0);
    EXPECT_THROW(
        layer.linear.pack(layer.stream, Packing::forward, w.matrix(32, 16), scratch.vector().part(255, 0)),
        Error);
    EXPECT_THROW(layer.linear.forward_packed(layer.stream, x.matrix(8, 16), w.vector().bytes(), {},
                                             y.matrix(8, 32), scratch.vector()),
                 Error);
}

TYPED_TEST(LinearTest, NeedsNoMoreScratchThanThePlanHas) {
    for (const std::int64_t rows : {1, 100, 1024, 4096}) {
        for (const std::int64_t in : {1, 100, 768, 4096}) {
            for (const std::int64_t out : {1, 65, 2304, 50257}) {
                for (const int threads : {1, 2, 16}) {
                    const auto device = test::device_of_tests(threads);
                    const Linear<TypeParam> linear{device->make_stream(), {rows, in, out, false}};
                    const auto planned = test::planned_workspaces<TypeParam>(threads);
                    EXPECT_LE(linear.workspace_bytes(), planned->linear(rows, in, out));
                    EXPECT_LE(linear.packed_workspace_bytes(), planned->packed_linear(rows, in, out));
                    const auto packed = planned->packed_weight(in, out);
                    EXPECT_LE(linear.packed_bytes(Packing::forward), packed);
                    EXPECT_LE(linear.packed_bytes(Packing::backward_input), packed);
                }
            }
        }
    }
}

TYPED_TEST(LinearTest, DoesNothingWithoutRows) {
    const Layer<TypeParam> layer{{0, 5, 3, true, true}, 2};

    EXPECT_TRUE(layer.forward().empty());
    EXPECT_TRUE(layer.backward_input().empty());
    EXPECT_TRUE(layer.backward_input_sum(Accumulate::no, 0).empty());
    EXPECT_EQ(layer.backward_weight(Accumulate::no, 3), std::vector<float>(15, 0.0f));
    EXPECT_EQ(layer.backward_weight(Accumulate::yes, 3), std::vector<float>(15, 3.0f));
}

/// Launches forward in Stream::load(), which measures its algorithms.
template <class T>
void load_forward(Layer<T>& layer) {
    const auto& shape = layer.shape;
    const auto x = layer.put(layer.x), w = layer.put(layer.w), bias = layer.put(layer.bias);
    auto y = layer.put(std::vector<T>(layer.dy.size()));
    auto scratch = layer.workspace();
    layer.stream.load([&] {
        layer.linear.forward(layer.stream, x.matrix(shape.rows, shape.in), w.matrix(shape.out, shape.in),
                             bias.vector(), y.matrix(shape.rows, shape.out), scratch.vector());
    });
    layer.stream.finish();
}

TYPED_TEST(LinearTest, ComputesTheProductWithEachAlgorithm) {
    if (!test::tests_on_cuda()) {
        GTEST_SKIP() << "products of the host have one algorithm";
    }
    Layer<TypeParam> layer{{64, 256, 96, true}, 2, ProductChoices{}};
    const auto tuner = product_tuner(layer.stream);
    EXPECT_TRUE(tuner->choices().empty()) << "nothing was launched";
    load_forward(layer);
    const auto measured = tuner->choices();
    ASSERT_EQ(measured.size(), 1U);
    const auto chosen = layer.forward();

    const auto exact = reference::linear(test::doubles(layer.x), test::doubles(layer.w),
                                         test::doubles(layer.bias), std::size_t{256});
    int num_other_bits = 0;
    for (int algorithm = 0; algorithm < 8; ++algorithm) {
        tuner->choose({{measured.begin()->first, algorithm}});
        const auto y = layer.forward();
        EXPECT_LT(test::relative_error(y, exact), std::max(bound_of_sums(), test::bound<TypeParam>));
        num_other_bits += y == chosen ? 0 : 1;
    }
    if (std::is_same_v<TypeParam, float> && tuner->library().find("emulated") != std::string::npos) {
        EXPECT_GT(num_other_bits, 0) << "all algorithms add in the same order";
    }
    tuner->choose(measured);
    EXPECT_EQ(layer.forward(), chosen);

    Layer<TypeParam> again{layer.shape, 2, measured};
    EXPECT_EQ(product_tuner(again.stream)->choices(), measured) << "known products are not measured";
    EXPECT_EQ(again.forward(), chosen);
}

TYPED_TEST(LinearTest, RefusesAWorkspaceThatIsTooSmall) {
    Layer<TypeParam> layer{{33, 64, 48, true}, 2};
    layer.workspace_bytes = std::max<std::int64_t>(layer.linear.packed_bytes(Packing::forward), 100);

    EXPECT_THROW(layer.forward(), Error);
}

TYPED_TEST(LinearTest, RefusesToPackIntoBytesThatAreNotAligned) {
    const Layer<TypeParam> layer{{3, 64, 48, false}, 2};
    const auto bytes = layer.linear.packed_bytes(Packing::forward);
    const auto packed = layer.put(std::vector<std::byte>(static_cast<std::size_t>(bytes)), 32);
    const auto w = layer.put(layer.w);

    EXPECT_THROW(layer.linear.pack(layer.stream, Packing::forward, w.matrix(48, 64), packed.vector()), Error);
}

TYPED_TEST(LinearTest, RefusesOperandsThatAreLessAlignedThanAGpuWasPromised) {
    if (!test::tests_on_cuda()) {
        GTEST_SKIP() << "the host takes any address";
    }
    const Layer<TypeParam> even{{4, 64, 48, true}, 2};  // rows of a multiple of 16 bytes
    try {
        even.forward(8);
        ADD_FAILURE() << "nobody refused";
    } catch (const Error& error) {
        EXPECT_NE(std::string{error.what()}.find("is_aligned(left"), std::string::npos) << error.what();
    }
    EXPECT_NO_THROW(even.forward(16));

    const Layer<TypeParam> odd{{4, 37, 48, true}, 2};
    EXPECT_NO_THROW(odd.forward(sizeof(TypeParam)));
}

TEST(AlignmentOfRows, IsWhatARowAndSixteenBytesHaveInCommon) {
    EXPECT_EQ(alignment_of_rows(64, 2), 16);
    EXPECT_EQ(alignment_of_rows(4, 2), 8);
    EXPECT_EQ(alignment_of_rows(6, 4), 8);
    EXPECT_EQ(alignment_of_rows(37, 2), 2);
    EXPECT_EQ(alignment_of_rows(37, 4), 4);
}

TEST(LinearReference, AgreesWithFiniteDifferences) {
    auto x = test::doubles(test::normal_values<float>(6, 1));
    auto w = test::doubles(test::normal_values<float>(8, 2));
    const auto dy = test::doubles(test::normal_values<float>(12, 3));
    std::vector<double> dx(x.size()), dw(w.size());
    reference::linear_backward(x, w, dy, 2, dx, dw);
    const auto value = [&] { return test::dot(reference::linear(x, w, {}, 2), dy); };

    for (std::size_t i = 0; i < x.size(); ++i) {
        EXPECT_NEAR(test::finite_difference(x[i], value), dx[i], 1e-6);
    }
    for (std::size_t i = 0; i < w.size(); ++i) {
        EXPECT_NEAR(test::finite_difference(w[i], value), dw[i], 1e-6);
    }
}

}  // namespace
}  // namespace ziggurat::kernels
