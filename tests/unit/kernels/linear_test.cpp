#include "kernels/linear.hpp"

#include <gtest/gtest.h>

#include "device/arena.hpp"
#include "tests/reference/linear.hpp"
#include "tests/support/kernel_data.hpp"

namespace ziggurat::kernels {
namespace {

using tensor::bfloat16;
using test::matrix;
using test::row;

/// A layer with data, its workspace exactly as large as the memory plan has it.
template <class T>
struct Layer {
    LinearShape shape;
    int threads;
    device::Stream stream{threads};
    std::vector<T> x, w, bias, dy;
    Linear<T> linear;
    std::vector<std::byte> workspace;

    Layer(const LinearShape& s, int num_threads)
        : shape{s},
          threads{num_threads},
          x{test::normal_values<T>(s.rows * s.in, 1)},
          w{test::normal_values<T>(s.out * s.in, 2)},
          bias{test::normal_values<T>(s.has_bias ? s.out : 0, 3)},
          dy{test::normal_values<T>(s.rows * s.out, 4)},
          linear{stream, s},
          workspace(static_cast<std::size_t>(
              layout::HostWorkspaces(sizeof(T), num_threads).linear(s.rows, s.in, s.out))) {}

    std::vector<T> forward() {
        std::vector<T> y(static_cast<std::size_t>(shape.rows * shape.out));
        linear.forward(stream, matrix(x, shape.rows, shape.in), matrix(w, shape.out, shape.in), row(bias),
                       matrix(y, shape.rows, shape.out), workspace);
        return y;
    }
    std::vector<T> backward_input() {
        std::vector<T> dx(static_cast<std::size_t>(shape.rows * shape.in));
        linear.backward_input(stream, matrix(dy, shape.rows, shape.out), matrix(w, shape.out, shape.in),
                              matrix(dx, shape.rows, shape.in), workspace);
        return dx;
    }
    std::vector<float> backward_weight(Accumulate accumulate, float before) {
        std::vector<float> dw(static_cast<std::size_t>(shape.out * shape.in), before);
        linear.backward_weight(stream, matrix(x, shape.rows, shape.in), matrix(dy, shape.rows, shape.out),
                               matrix(dw, shape.out, shape.in), accumulate, workspace);
        return dw;
    }
};

const LinearShape odd_shapes[] = {{1, 1, 1, true},     {1, 37, 5, false},   {3, 5, 37, true},
                                  {33, 64, 48, true},  {67, 100, 65, true}, {129, 33, 17, false},
                                  {5, 768, 257, true}, {257, 16, 1, true}};

template <class T>
class LinearTest : public ::testing::Test {};
using ComputeTypes = ::testing::Types<float, bfloat16>;
TYPED_TEST_SUITE(LinearTest, ComputeTypes);

TYPED_TEST(LinearTest, IsTheProductOfTheReference) {
    for (const auto& shape : odd_shapes) {
        Layer<TypeParam> layer{shape, 2};
        const auto in = static_cast<std::size_t>(shape.in);
        const auto x = test::doubles(layer.x), w = test::doubles(layer.w), dy = test::doubles(layer.dy);
        std::vector<double> dx(x.size()), dw(w.size());
        reference::linear_backward(x, w, dy, in, dx, dw);
        auto dw_added = dw;
        for (auto& value : dw_added) {
            value += 3;
        }

        const auto y = reference::linear(x, w, test::doubles(layer.bias), in);
        EXPECT_LT(test::relative_error(layer.forward(), y), test::bound<TypeParam>) << shape.in;
        EXPECT_LT(test::relative_error(layer.backward_input(), dx), test::bound<TypeParam>) << shape.in;
        EXPECT_LT(test::relative_error(layer.backward_weight(Accumulate::no, 3), dw), 1e-6) << shape.in;
        EXPECT_LT(test::relative_error(layer.backward_weight(Accumulate::yes, 3), dw_added), 1e-6)
            << shape.in;
    }
}

TYPED_TEST(LinearTest, HasTheSameBitsForAnyNumberOfThreads) {
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
    for (const auto& shape : odd_shapes) {
        Layer<TypeParam> layer{shape, 2};
        const Linear<TypeParam> packer{device::Stream{3}, {7, shape.in, shape.out, false}};
        const auto w = matrix(layer.w, shape.out, shape.in);
        const auto bytes_of = [](const device::Arena& arena) {
            return std::span{arena.data(), static_cast<std::size_t>(arena.bytes())};
        };
        const auto most = layout::HostWorkspaces{sizeof(TypeParam), 1}.packed_weight(shape.in, shape.out);
        const device::Arena forward{most, "packed for forward"}, backward{most, "packed for backward"};
        packer.pack(layer.stream, Packing::forward, w, bytes_of(forward));
        packer.pack(layer.stream, Packing::backward_input, w, bytes_of(backward));

        std::vector<TypeParam> y(layer.dy.size()), dx(layer.x.size());
        layer.linear.forward_packed(layer.stream, matrix(layer.x, shape.rows, shape.in), bytes_of(forward),
                                    row(layer.bias), matrix(y, shape.rows, shape.out), layer.workspace);
        layer.linear.backward_input_packed(layer.stream, matrix(layer.dy, shape.rows, shape.out),
                                           bytes_of(backward), matrix(dx, shape.rows, shape.in),
                                           layer.workspace);

        EXPECT_TRUE(test::same_bits(y, layer.forward()));
        EXPECT_TRUE(test::same_bits(dx, layer.backward_input()));
    }
}

TYPED_TEST(LinearTest, NeedsNoMoreScratchThanThePlanHas) {
    for (const std::int64_t rows : {1, 100, 1024, 4096}) {
        for (const std::int64_t in : {1, 100, 768, 4096}) {
            for (const std::int64_t out : {1, 65, 2304, 50257}) {
                for (const int threads : {1, 2, 16}) {
                    const Linear<TypeParam> linear{device::Stream{threads}, {rows, in, out, false}};
                    EXPECT_LE(linear.workspace_bytes(),
                              layout::HostWorkspaces(sizeof(TypeParam), threads).linear(rows, in, out));
                    EXPECT_LE(linear.packed_workspace_bytes(),
                              layout::HostWorkspaces(sizeof(TypeParam), threads).packed_linear(rows, in));
                    const auto packed = layout::HostWorkspaces{sizeof(TypeParam), 1}.packed_weight(in, out);
                    EXPECT_LE(linear.packed_bytes(Packing::forward), packed);
                    EXPECT_LE(linear.packed_bytes(Packing::backward_input), packed);
                }
            }
        }
    }
}

TYPED_TEST(LinearTest, DoesNothingWithoutRows) {
    Layer<TypeParam> layer{{0, 5, 3, true}, 2};

    EXPECT_TRUE(layer.forward().empty());
    EXPECT_TRUE(layer.backward_input().empty());
    EXPECT_EQ(layer.backward_weight(Accumulate::no, 3), std::vector<float>(15, 0.0f));
    EXPECT_EQ(layer.backward_weight(Accumulate::yes, 3), std::vector<float>(15, 3.0f));
}

TYPED_TEST(LinearTest, RefusesAWorkspaceThatIsTooSmall) {
    Layer<TypeParam> layer{{33, 64, 48, true}, 2};
    layer.workspace.resize(static_cast<std::size_t>(layer.linear.packed_bytes(Packing::forward)));

    EXPECT_ANY_THROW(layer.forward());
}

TYPED_TEST(LinearTest, RefusesToPackIntoBytesThatAreNotAligned) {
    Layer<TypeParam> layer{{3, 64, 48, false}, 2};
    const auto bytes = layer.linear.packed_bytes(Packing::forward);
    const device::Arena arena{bytes + 64, "packed"};
    const std::span packed{arena.data() + 32, static_cast<std::size_t>(bytes)};

    EXPECT_ANY_THROW(layer.linear.pack(layer.stream, Packing::forward, matrix(layer.w, 48, 64), packed));
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
