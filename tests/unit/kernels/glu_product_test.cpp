#include "kernels/glu/glu_product.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <optional>

#include "base/error.hpp"
#include "kernels/product_tuner.hpp"
#include "layout/cuda_workspaces.hpp"
#include "tests/reference/linear.hpp"
#include "tests/reference/swiglu.hpp"
#include "tests/support/kernel_data.hpp"
#include "tests/unit/kernels/guarded_tensor.hpp"

namespace ziggurat::kernels {
namespace {

using tensor::bfloat16;
using Values = std::vector<bfloat16>;

/// A gradient of a test, with data in the memory of the GPU.
struct Layer {
    /// \param known  measures the options of products, except these; nullopt: does not measure
    explicit Layer(const GluProductShape& of, const std::optional<ProductChoices>& known = std::nullopt)
        : shape{of},
          device{test::device_of_tests(2)},
          stream{device->make_stream()},
          dy{test::normal_values<bfloat16>(of.rows * of.out, 1)},
          w{test::normal_values<bfloat16>(of.out * of.width, 2)},
          x{test::normal_values<bfloat16>(of.rows * 2 * of.width, 3, 2)} {
        if (known) {
            product_tuner(stream)->measure(*known);
        }
        product.emplace(stream, of);
        EXPECT_LE(product->workspace_bytes(), layout::CudaWorkspaces{}.linear(of.rows, of.width, of.out));
    }

    struct Gradients {
        Values dx, active;

        bool operator==(const Gradients& other) const {
            return test::same_bits(dx, other.dx) && test::same_bits(active, other.active);
        }
    };

    template <class T>
    test::GuardedTensor<T> put(const std::vector<T>& values) const {
        return {*device, stream, values};
    }

    /// \param loads  in Stream::load()
    Gradients backward(bool loads = false) const {
        const auto [rows, width, out, unit, with_output] = shape;
        const auto in = put(dy), weight = put(w), input = put(x);
        auto dx = put(Values(x.size()));
        auto active = put(Values(static_cast<std::size_t>(with_output ? rows * width : 0)));
        const auto bytes = static_cast<std::size_t>(product->workspace_bytes());
        test::GuardedTensor<std::byte> scratch{*device, stream, std::vector<std::byte>(bytes), 1};
        const auto call = [&] {
            product->backward(stream, in.matrix(rows, out), weight.matrix(out, width),
                              input.matrix(rows, 2 * width), dx.matrix(rows, 2 * width),
                              with_output ? active.matrix(rows, width) : TensorAddress<bfloat16, 2>{},
                              scratch.vector());
        };
        loads ? stream.load(call) : call();
        scratch.values();
        return {dx.values(), active.values()};
    }

    std::vector<double> expected_dx() const {
        const auto width = static_cast<std::size_t>(shape.width);
        std::vector<double> d_active(static_cast<std::size_t>(shape.rows * shape.width)), unused(w.size());
        reference::linear_backward(d_active, test::doubles(w), test::doubles(dy), width, d_active, unused);
        const auto gradient =
            shape.unit == GatedUnit::geglu ? reference::geglu_backward : reference::swiglu_backward;
        return gradient(test::doubles(x), d_active, width);
    }

    GluProductShape shape;
    std::shared_ptr<device::Device> device;
    device::Stream stream;
    Values dy, w, x;
    std::optional<GluProduct> product;
};

class GluProductTest : public ::testing::Test {
  protected:
    void SetUp() override {
        if (!test::tests_on_cuda()) {
            GTEST_SKIP() << "only GPUs have it";
        }
    }
};

/// Shapes with kernels of cuDNN, and with sizes that it does not take.
std::vector<GluProductShape> shapes() {
    std::vector<GluProductShape> all;
    for (const auto unit : {GatedUnit::swiglu, GatedUnit::geglu}) {
        for (const bool with_output : {false, true}) {
            all.push_back({33, 64, 48, unit, with_output});
            all.push_back({5, 24, 8, unit, with_output});
            all.push_back({7, 37, 24, unit, with_output});
            all.push_back({9, 40, 13, unit, with_output});
        }
    }
    return all;
}

constexpr double bound = 0.02;

TEST_F(GluProductTest, IsTheProductAndTheGradientOfTheReference) {
    for (const auto& shape : shapes()) {
        SCOPED_TRACE(testing::Message()
                     << shape.rows << " " << shape.width << " " << shape.out << " " << shape.with_output);
        const Layer layer{shape};
        EXPECT_EQ(layer.product->refusal().empty(), shape.width % 8 == 0 && shape.out % 8 == 0);
        const auto got = layer.backward();
        EXPECT_LT(test::relative_error(got.dx, layer.expected_dx()), bound);
        if (shape.with_output) {
            const auto width = static_cast<std::size_t>(shape.width);
            const auto output = shape.unit == GatedUnit::geglu ? reference::geglu : reference::swiglu;
            EXPECT_LT(test::relative_error(got.active, output(test::doubles(layer.x), width)),
                      test::bound<bfloat16>);
        }
        EXPECT_EQ(layer.backward(), got);
        layer.backward(true);
        EXPECT_EQ(layer.backward(), got) << "loading changed the kernel";
        EXPECT_TRUE(product_tuner(layer.stream)->choices().empty()) << "loading measured";
    }
}

TEST_F(GluProductTest, MeasuresTheOptionsAndKeepsToTheChoice) {
    for (const auto& shape : shapes()) {
        SCOPED_TRACE(testing::Message()
                     << shape.rows << " " << shape.width << " " << shape.out << " " << shape.with_output);
        const Layer layer{shape, ProductChoices{}};
        const auto tuner = product_tuner(layer.stream);
        EXPECT_TRUE(tuner->choices().empty()) << "nothing was launched";
        layer.backward(true);
        const auto measured = tuner->choices();
        const auto is_glu = [](const auto& choice) {
            return choice.first.find("gradient of") != std::string::npos;
        };
        const auto choice = std::ranges::find_if(measured, is_glu);
        const bool has_kernels = layer.product->refusal().empty();
        ASSERT_EQ(choice != measured.end(), has_kernels);
        if (!has_kernels) {
            continue;
        }
        const auto chosen = layer.backward();
        int num_other_bits = 0;
        for (int option = 0; option < 3; ++option) {
            tuner->choose({{choice->first, option}});
            const auto got = layer.backward();
            EXPECT_LT(test::relative_error(got.dx, layer.expected_dx()), bound);
            num_other_bits += got == chosen ? 0 : 1;
        }
        EXPECT_GT(num_other_bits, 0) << "all options are the same";
        tuner->choose(measured);
        EXPECT_EQ(layer.backward(), chosen);

        const Layer again{shape, measured};
        EXPECT_EQ(product_tuner(again.stream)->choices().at(choice->first), choice->second);
        again.backward(true);
        EXPECT_EQ(again.backward(), chosen) << "a known choice was measured";
    }
}

TEST_F(GluProductTest, RefusesOtherShapes) {
    const Layer layer{{4, 16, 8, GatedUnit::swiglu, false}};
    auto other = layer.shape;
    other.with_output = true;
    const Layer with_output{other};
    const auto dy = layer.put(layer.dy), w = layer.put(layer.w), x = layer.put(layer.x);
    const auto dx = layer.put(layer.x), active = layer.put(Values(4 * 16));
    const auto scratch =
        layer.put(std::vector<std::byte>(static_cast<std::size_t>(layer.product->workspace_bytes())));
    const auto call = [&](const Layer& with, std::int64_t rows, TensorAddress<bfloat16, 2> output) {
        with.product->backward(layer.stream, dy.matrix(4, 8), w.matrix(8, 16), x.matrix(rows, 128 / rows),
                               dx.matrix(4, 32), output, scratch.vector());
    };
    EXPECT_NO_THROW(call(layer, 4, {}));
    EXPECT_THROW(call(layer, 8, {}), Error);
    EXPECT_THROW(call(layer, 4, active.matrix(4, 16)), Error);
    EXPECT_THROW(call(with_output, 4, {}), Error);
}

}  // namespace
}  // namespace ziggurat::kernels
