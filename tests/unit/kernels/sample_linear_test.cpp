/// The timed products of a layer compute what they are named for, in the memory of the device.
#include "kernels/sample_linear.hpp"

#include <gtest/gtest.h>

#include <cstdint>

#include "device/emulated/emulated_device.hpp"
#include "kernels/sample_product.hpp"
#include "tensor/bfloat16.hpp"
#include "tests/unit/kernels/guarded_tensor.hpp"

namespace ziggurat::kernels {
namespace {

constexpr std::int64_t rows = 8, in = 32, out = 64;

/// Returns an element of the operands, which lie one after the other: x, then w, then y.
double x(std::int64_t row, std::int64_t column) {
    return sample_element(row * in + column);
}
double w(std::int64_t row, std::int64_t column) {
    return sample_element(rows * in + row * in + column);
}
double y(std::int64_t row, std::int64_t column) {
    return sample_element(rows * in + in * out + row * out + column);
}

template <class T>
void expect_products(device::Device& device) {
    double forward = 0, d_input = 0, d_weight = 0;
    for (std::int64_t k = 0; k < in; ++k) {
        forward += x(rows - 1, k) * w(out - 1, k);
    }
    for (std::int64_t k = 0; k < out; ++k) {
        d_input += y(rows - 1, k) * w(k, in - 1);
    }
    for (std::int64_t k = 0; k < rows; ++k) {
        d_weight += y(k, out - 1) * x(k, in - 1);
    }
    SampleLinear<T> layer{device, {rows, in, out, false}, 1};
    // Forward is last: it overwrites y, which the gradients read.
    for (const auto& [product, expected] :
         {std::pair{LinearProduct::backward_weight, d_weight},
          std::pair{LinearProduct::backward_input, d_input}, std::pair{LinearProduct::forward, forward}}) {
        layer.start(product);
        layer.finish();
        // Products of the elements are multiples of 2^-14, so their sum is exact.
        const bool is_float = product == LinearProduct::backward_weight;
        const auto rounded = static_cast<float>(expected);
        EXPECT_EQ(layer.last(product), is_float ? rounded : static_cast<float>(T{rounded}))
            << to_string(product);
    }
    EXPECT_EQ(layer.flops(), 2.0 * rows * in * out);
}

TEST(SampleLinear, ComputesTheThreeProductsOfALayer) {
    const auto computes = test::device_of_tests(1);
    device::EmulatedDevice late{{.mode = device::EmulatedDevice::Mode::polled, .seed = 3}};
    for (auto* device : {computes.get(), static_cast<device::Device*>(&late)}) {
        expect_products<float>(*device);
        expect_products<tensor::bfloat16>(*device);
    }
}

TEST(SampleLinear, UsesItsSetsOfOperandsInTurn) {
    const auto computes = test::device_of_tests(1);
    constexpr std::int64_t bytes_of_set = 4 * (2 * rows * in + 2 * in * out + rows * out);
    SampleLinear<float> layer{*computes, {rows, in, out, false}, 3 * bytes_of_set};
    layer.start(LinearProduct::backward_weight);
    layer.finish();
    const float first = layer.last(LinearProduct::backward_weight);

    layer.start(LinearProduct::forward);  // of the second set: the gradient of the first one's y stays
    layer.start(LinearProduct::backward_weight);
    layer.finish();

    EXPECT_EQ(layer.last(LinearProduct::backward_weight), first);
}

}  // namespace
}  // namespace ziggurat::kernels
