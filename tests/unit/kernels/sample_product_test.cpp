/// A timed product runs on the computing device, in its memory, and is complete when its time ends.
#include "kernels/sample_product.hpp"

#include <gtest/gtest.h>

#include <cstdint>

#include "device/emulated/emulated_device.hpp"
#include "tensor/bfloat16.hpp"
#include "tests/unit/kernels/guarded_tensor.hpp"

namespace ziggurat::kernels {
namespace {

template <class T>
void expect_done(device::Device& device) {
    SampleProduct<T> product{device, 7, 64};

    product.run();

    double last = 0;
    for (std::int64_t k = 0; k < 64; ++k) {
        last += double{sample_element(6 * 64 + k)} * double{sample_element(63 * 64 + k)};
    }
    // Products of the elements are multiples of 2^-14, so their sum is exact.
    EXPECT_EQ(static_cast<float>(product.last()), static_cast<float>(T{static_cast<float>(last)}));
    EXPECT_EQ(product.flops(), 2.0 * 7 * 64 * 64);
}

TEST(SampleProduct, IsDoneWhenItReturns) {
    const auto computes = test::device_of_tests(1);
    device::EmulatedDevice late{{.mode = device::EmulatedDevice::Mode::polled, .seed = 3}};
    for (auto* device : {computes.get(), static_cast<device::Device*>(&late)}) {
        expect_done<float>(*device);
        expect_done<tensor::bfloat16>(*device);
    }
}

}  // namespace
}  // namespace ziggurat::kernels
