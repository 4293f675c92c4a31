#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <type_traits>

#include "kernels/host/linear_tiled_impl.hpp"
#include "kernels/linear_products.hpp"
#include "kernels/tile/portable.hpp"
#include "tests/reference/linear.hpp"
#include "tests/support/kernel_data.hpp"

namespace ziggurat::kernels {
namespace {

using tensor::bfloat16;

/// Implementations of a layer; each machine uses one of them.
template <class Element>
struct ByPortableTiles {
    using T = Element;
    static std::unique_ptr<host::HostProducts<T>> make(const LinearShape& shape, int threads) {
        return std::make_unique<host::TiledProducts<tile::Portable, T>>(shape, threads);
    }
};
template <class Element>
struct ByTilesOfThisMachine {
    using T = Element;
    static constexpr auto make = &host::make_tiled_products<T>;
};
template <class Element>
struct ByOnednn {
    using T = Element;
    static constexpr auto make = &host::make_onednn_products<T>;
};

template <class Path>
struct Layer {
    using T = typename Path::T;

    LinearShape shape;
    std::vector<T> x, w, bias, dy;
    std::unique_ptr<host::HostProducts<T>> products;
    std::vector<std::byte> packed, scratch;

    Layer(const LinearShape& s, int threads)
        : shape{s},
          x{test::normal_values<T>(s.rows * s.in, 1)},
          w{test::normal_values<T>(s.out * s.in, 2)},
          bias{test::normal_values<T>(s.out, 3)},
          dy{test::normal_values<T>(s.rows * s.out, 4)},
          products{Path::make(s, threads)},
          packed(64 + static_cast<std::size_t>(std::max(products->packed_bytes(Packing::forward),
                                                        products->packed_bytes(Packing::backward_input)))),
          scratch(64 + static_cast<std::size_t>(
                           std::max(products->scratch_bytes(), products->weight_scratch_bytes()))) {}

    static std::byte* aligned(std::vector<std::byte>& bytes) {
        const auto address = reinterpret_cast<std::uintptr_t>(bytes.data());
        return bytes.data() + (64 - address % 64) % 64;
    }
    std::vector<T> forward() {
        std::vector<T> y(dy.size());
        products->pack(Packing::forward, w.data(), aligned(packed));
        products->forward(x.data(), aligned(packed), shape.has_bias ? bias.data() : nullptr, y.data(),
                          aligned(scratch));
        return y;
    }
    std::vector<T> backward_input() {
        std::vector<T> dx(x.size());
        products->pack(Packing::backward_input, w.data(), aligned(packed));
        products->backward_input(dy.data(), aligned(packed), dx.data(), aligned(scratch));
        return dx;
    }
    std::vector<float> backward_weight(Accumulate accumulate) {
        std::vector<float> dw(w.size(), 3.0f);
        products->backward_weight(x.data(), dy.data(), dw.data(), accumulate, aligned(scratch));
        return dw;
    }
};

/// Shapes; the last four exceed the blocks of rows, of columns and of the inner size.
const LinearShape shapes[] = {{1, 1, 1, true},     {3, 5, 37, true},      {67, 100, 65, false},
                              {5, 300, 257, true}, {1000, 17, 33, false}, {7, 530, 300, true},
                              {1027, 9, 3, false}, {8, 1101, 70, true}};

template <class Path>
class LinearProductsTest : public ::testing::Test {
  protected:
    void SetUp() override {
        constexpr bool is_onednn = std::is_same_v<Path, ByOnednn<typename Path::T>>;
        if (is_onednn && !host::has_onednn_products<typename Path::T>()) {
            GTEST_SKIP() << "oneDNN has no such products for this machine";
        }
    }
};
using Ways = ::testing::Types<ByPortableTiles<float>,
                              ByPortableTiles<bfloat16>,
                              ByTilesOfThisMachine<float>,
                              ByTilesOfThisMachine<bfloat16>,
                              ByOnednn<float>,
                              ByOnednn<bfloat16>>;
TYPED_TEST_SUITE(LinearProductsTest, Ways);

TYPED_TEST(LinearProductsTest, IsTheProductOfTheReference) {
    for (const auto& shape : shapes) {
        Layer<TypeParam> layer{shape, 2};
        const auto in = static_cast<std::size_t>(shape.in);
        const auto x = test::doubles(layer.x), w = test::doubles(layer.w), dy = test::doubles(layer.dy);
        const auto y =
            reference::linear(x, w, shape.has_bias ? test::doubles(layer.bias) : std::vector<double>{}, in);
        std::vector<double> dx(x.size()), dw(w.size());
        reference::linear_backward(x, w, dy, in, dx, dw);

        EXPECT_LT(test::relative_error(layer.forward(), y), test::bound<typename TypeParam::T>) << shape.in;
        EXPECT_LT(test::relative_error(layer.backward_input(), dx), test::bound<typename TypeParam::T>)
            << shape.in;
        EXPECT_LT(test::relative_error(layer.backward_weight(Accumulate::no), dw), 1e-6) << shape.in;
        for (auto& value : dw) {
            value += 3;
        }
        EXPECT_LT(test::relative_error(layer.backward_weight(Accumulate::yes), dw), 1e-6) << shape.in;
    }
}

TYPED_TEST(LinearProductsTest, HasTheSameBitsForAnyThreadsAndForTheSameRowInASmallerCall) {
    for (const auto& shape : shapes) {
        Layer<TypeParam> one{shape, 1}, two{shape, 2};
        Layer<TypeParam> part{{(shape.rows + 1) / 2, shape.in, shape.out, shape.has_bias}, 2};

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

TYPED_TEST(LinearProductsTest, NeedsNoMoreScratchThanThePlanHas) {
    for (const int threads : {1, 16}) {
        const auto products = TypeParam::make({100, 64, 64, false}, threads);

        EXPECT_LE(64 + products->packed_bytes(Packing::forward) + 64 + products->scratch_bytes(),
                  layout::HostWorkspaces(sizeof(typename TypeParam::T), threads).linear(100, 64, 64));
    }
}

}  // namespace
}  // namespace ziggurat::kernels
