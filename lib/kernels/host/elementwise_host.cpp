#include "kernels/elementwise.hpp"
#include "kernels/host/kernel_backend_host.hpp"

#include <algorithm>
#include <cstring>

#include "kernels/host/elementwise_blocks_host.hpp"
#include "tensor/bfloat16.hpp"

namespace ziggurat::kernels::host {
namespace {

template <class Sum>
void add_block(const float* x, Sum* into, std::int64_t count) {
#pragma omp simd
    for (std::int64_t i = 0; i < count; ++i) {
        tensor::store(into[i], float(into[i]) + x[i]);
    }
}

template <class T>
void scale_block(float factor, T* values, std::int64_t count) {
#pragma omp simd
    for (std::int64_t i = 0; i < count; ++i) {
        tensor::store(values[i], factor * float(values[i]));
    }
}

}  // namespace

template <class T>
void fill_zero(const device::Stream&, std::span<T> values) {
    T* to = values.data();
    for_blocks("ziggurat::fill_zero", std::ssize(values),
               [=](std::int64_t begin, std::int64_t count) { std::fill_n(to + begin, count, T(0.0f)); });
}

template <class Sum>
void add_to(const device::Stream&, std::span<const float> x, std::span<Sum> into) {
    for_blocks("ziggurat::add_to", std::ssize(x), [=](std::int64_t begin, std::int64_t count) {
        add_block(x.data() + begin, into.data() + begin, count);
    });
}

template <class T>
void scale(const device::Stream&, float factor, std::span<T> values) {
    for_blocks("ziggurat::scale", std::ssize(values), [=](std::int64_t begin, std::int64_t count) {
        scale_block(factor, values.data() + begin, count);
    });
}

template <class From, class To>
void convert(const device::Stream&, std::span<const From> from, std::span<To> to) {
    convert_blocks(from.data(), to.data(), std::ssize(from));
}

void copy_bytes(const device::Stream&, std::span<std::byte> to, std::span<const std::byte> from) {
    constexpr std::int64_t block = 65536;
    const auto bytes = std::ssize(to);
    for_rows("ziggurat::copy_bytes", (bytes + block - 1) / block, [=](std::int64_t index) {
        const auto begin = index * block;
        std::memcpy(to.data() + begin, from.data() + begin,
                    static_cast<std::size_t>(std::min(block, bytes - begin)));
    });
}

ZG_REGISTER_HOST_KERNEL(fill_zero<float>);
ZG_REGISTER_HOST_KERNEL(fill_zero<tensor::bfloat16>);
ZG_REGISTER_HOST_KERNEL(add_to<float>);
ZG_REGISTER_HOST_KERNEL(add_to<tensor::bfloat16>);
ZG_REGISTER_HOST_KERNEL(scale<float>);
ZG_REGISTER_HOST_KERNEL(scale<tensor::bfloat16>);
ZG_REGISTER_HOST_KERNEL(convert<float, float>);
ZG_REGISTER_HOST_KERNEL(convert<float, tensor::bfloat16>);
ZG_REGISTER_HOST_KERNEL(convert<tensor::bfloat16, float>);
ZG_REGISTER_HOST_KERNEL(convert<tensor::bfloat16, tensor::bfloat16>);
ZG_REGISTER_HOST_KERNEL(copy_bytes);

}  // namespace ziggurat::kernels::host
