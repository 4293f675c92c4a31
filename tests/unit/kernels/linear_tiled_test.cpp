#include <gtest/gtest.h>

#include "kernels/linear_tiled_impl.hpp"
#include "kernels/tile/portable.hpp"
#include "tests/reference/linear.hpp"
#include "tests/support/kernel_data.hpp"

namespace ziggurat::kernels {
namespace {

using tensor::bfloat16;

/// A layer as machines without AVX-512 carry it out.
template <class T>
struct TiledLayer {
    LinearShape shape;
    std::vector<T> x, w, bias, dy;
    host::TiledProducts<tile::Portable, T> products;
    std::vector<std::byte> packed, scratch;

    TiledLayer(const LinearShape& s, int threads)
        : shape{s},
          x{test::normal_values<T>(s.rows * s.in, 1)},
          w{test::normal_values<T>(s.out * s.in, 2)},
          bias{test::normal_values<T>(s.out, 3)},
          dy{test::normal_values<T>(s.rows * s.out, 4)},
          products{s, threads},
          packed(static_cast<std::size_t>(products.packed_bytes(Packing::forward))),
          scratch(static_cast<std::size_t>(products.scratch_bytes()) + 64) {}

    std::byte* aligned_scratch() {
        const auto address = reinterpret_cast<std::uintptr_t>(scratch.data());
        return scratch.data() + (64 - address % 64) % 64;
    }
    std::vector<T> forward() {
        std::vector<T> y(dy.size());
        products.pack(Packing::forward, w.data(), packed.data());
        products.forward(x.data(), packed.data(), shape.has_bias ? bias.data() : nullptr, y.data(),
                         aligned_scratch());
        return y;
    }
    std::vector<T> backward_input() {
        std::vector<T> dx(x.size());
        products.pack(Packing::backward_input, w.data(), packed.data());
        products.backward_input(dy.data(), packed.data(), dx.data(), aligned_scratch());
        return dx;
    }
    std::vector<float> backward_weight(Accumulate accumulate) {
        std::vector<float> dw(w.size(), 3.0f);
        products.backward_weight(x.data(), dy.data(), dw.data(), accumulate, aligned_scratch());
        return dw;
    }
};

/// The last two reach over the blocks of rows, of columns and of depth.
const LinearShape shapes[] = {{1, 1, 1, true},     {3, 5, 37, true},      {67, 100, 65, false},
                              {5, 300, 257, true}, {1000, 17, 33, false}, {7, 530, 300, true}};

template <class T>
class TiledLinearTest : public ::testing::Test {};
using ComputeTypes = ::testing::Types<float, bfloat16>;
TYPED_TEST_SUITE(TiledLinearTest, ComputeTypes);

TYPED_TEST(TiledLinearTest, IsTheProductOfTheReference) {
    for (const auto& shape : shapes) {
        TiledLayer<TypeParam> layer{shape, 2};
        const auto in = static_cast<std::size_t>(shape.in);
        const auto x = test::doubles(layer.x), w = test::doubles(layer.w), dy = test::doubles(layer.dy);
        const auto y =
            reference::linear(x, w, shape.has_bias ? test::doubles(layer.bias) : std::vector<double>{}, in);
        std::vector<double> dx(x.size()), dw(w.size());
        reference::linear_backward(x, w, dy, in, dx, dw);

        EXPECT_LT(test::relative_error(layer.forward(), y), test::bound<TypeParam>) << shape.in;
        EXPECT_LT(test::relative_error(layer.backward_input(), dx), test::bound<TypeParam>) << shape.in;
        EXPECT_LT(test::relative_error(layer.backward_weight(Accumulate::no), dw), 1e-6) << shape.in;
        for (auto& value : dw) {
            value += 3;
        }
        EXPECT_LT(test::relative_error(layer.backward_weight(Accumulate::yes), dw), 1e-6) << shape.in;
    }
}

TYPED_TEST(TiledLinearTest, HasTheSameBitsForAnyThreadsAndForTheSameRowInASmallerCall) {
    for (const auto& shape : shapes) {
        TiledLayer<TypeParam> one{shape, 1}, two{shape, 2};
        TiledLayer<TypeParam> part{{(shape.rows + 1) / 2, shape.in, shape.out, shape.has_bias}, 2};

        const auto y = one.forward();
        const auto dx = one.backward_input();
        const auto part_y = part.forward();
        const auto part_dx = part.backward_input();

        EXPECT_TRUE(test::same_bits(y, two.forward()));
        EXPECT_TRUE(test::same_bits(dx, two.backward_input()));
        EXPECT_TRUE(
            test::same_bits(one.backward_weight(Accumulate::no), two.backward_weight(Accumulate::no)));
        EXPECT_TRUE(std::equal(part_y.begin(), part_y.end(), y.begin()));
        EXPECT_TRUE(std::equal(part_dx.begin(), part_dx.end(), dx.begin()));
    }
}

TYPED_TEST(TiledLinearTest, NeedsNoMoreScratchThanThePlanHas) {
    for (const int threads : {1, 16}) {
        const host::TiledProducts<tile::Portable, TypeParam> products{{100, 64, 64, false}, threads};

        EXPECT_LE(64 + products.packed_bytes(Packing::forward) + 64 + products.scratch_bytes(),
                  layout::linear_workspace_bytes(100, 64, 64, sizeof(TypeParam), threads));
    }
}

}  // namespace
}  // namespace ziggurat::kernels
