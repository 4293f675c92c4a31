#include "kernels/host/elementwise_host.hpp"

#include <algorithm>
#include <cstring>

#include "kernels/host/elementwise_blocks_host.hpp"
#include "tensor/bfloat16.hpp"

namespace ziggurat::kernels::host {
namespace {

template <class From, class To>
void convert_block(const From* from, To* to, std::int64_t count) {
#pragma omp simd
    for (std::int64_t i = 0; i < count; ++i) {
        tensor::store(to[i], float(from[i]));
    }
}

template <class Sum>
void add_block(const float* x, Sum* into, std::int64_t count) {
#pragma omp simd
    for (std::int64_t i = 0; i < count; ++i) {
        tensor::store(into[i], float(into[i]) + x[i]);
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

template <class From, class To>
void convert(const device::Stream&, std::span<const From> from, std::span<To> to) {
    for_blocks("ziggurat::convert", std::ssize(from), [=](std::int64_t begin, std::int64_t count) {
        convert_block(from.data() + begin, to.data() + begin, count);
    });
}

void copy_bytes(const device::Stream&, std::byte* to, const std::byte* from, std::int64_t bytes) {
    constexpr std::int64_t block = 65536;
    for_rows("ziggurat::copy_bytes", (bytes + block - 1) / block, [=](std::int64_t index) {
        const auto begin = index * block;
        std::memcpy(to + begin, from + begin, static_cast<std::size_t>(std::min(block, bytes - begin)));
    });
}

template decltype(fill_zero<float>) fill_zero<float>;
template decltype(fill_zero<tensor::bfloat16>) fill_zero<tensor::bfloat16>;
template decltype(add_to<float>) add_to<float>;
template decltype(add_to<tensor::bfloat16>) add_to<tensor::bfloat16>;
template decltype(convert<float, float>) convert<float, float>;
template decltype(convert<float, tensor::bfloat16>) convert<float, tensor::bfloat16>;
template decltype(convert<tensor::bfloat16, float>) convert<tensor::bfloat16, float>;
template decltype(convert<tensor::bfloat16, tensor::bfloat16>) convert<tensor::bfloat16, tensor::bfloat16>;

}  // namespace ziggurat::kernels::host
