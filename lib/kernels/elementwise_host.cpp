#include <cstddef>

#include "base/contract.hpp"
#include "kernels/elementwise.hpp"
#include "kernels/elementwise_blocks_host.hpp"
#include "tensor/bfloat16.hpp"

namespace ziggurat::kernels {
namespace {

using tensor::bfloat16;

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

std::int64_t length(std::size_t size) {
    return static_cast<std::int64_t>(size);
}

template <class Sum>
void add(const device::Stream& stream, std::span<const float> x, std::span<Sum> into) {
    ZG_EXPECTS(stream.space() == device::MemorySpace::host);
    ZG_EXPECTS(x.size() == into.size());
    host::for_blocks("ziggurat::add_to", length(x.size()), [=](std::int64_t begin, std::int64_t count) {
        add_block(x.data() + begin, into.data() + begin, count);
    });
}

}  // namespace

template <class T>
void fill_zero(const device::Stream& stream, std::span<T> values) {
    ZG_EXPECTS(stream.space() == device::MemorySpace::host);
    T* to = values.data();
    host::for_blocks(
        "ziggurat::fill_zero", length(values.size()),
        [=](std::int64_t begin, std::int64_t count) { std::fill_n(to + begin, count, T(0.0f)); });
}

void add_to(const device::Stream& stream, std::span<const float> x, std::span<float> into) {
    add(stream, x, into);
}

void add_to(const device::Stream& stream, std::span<const float> x, std::span<bfloat16> into) {
    add(stream, x, into);
}

template <class From, class To>
void convert(const device::Stream& stream, std::span<const From> from, std::span<To> to) {
    ZG_EXPECTS(stream.space() == device::MemorySpace::host);
    ZG_EXPECTS(from.size() == to.size());
    host::for_blocks("ziggurat::convert", length(from.size()), [=](std::int64_t begin, std::int64_t count) {
        convert_block(from.data() + begin, to.data() + begin, count);
    });
}

template decltype(fill_zero<float>) fill_zero<float>;
template decltype(fill_zero<bfloat16>) fill_zero<bfloat16>;
template decltype(convert<float, float>) convert<float, float>;
template decltype(convert<float, bfloat16>) convert<float, bfloat16>;
template decltype(convert<bfloat16, float>) convert<bfloat16, float>;
template decltype(convert<bfloat16, bfloat16>) convert<bfloat16, bfloat16>;

}  // namespace ziggurat::kernels
