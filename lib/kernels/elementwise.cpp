#include "kernels/elementwise.hpp"

#include "base/contract.hpp"
#include "kernels/host/elementwise_host.hpp"
#include "kernels/launch.hpp"

namespace ziggurat::kernels {

using tensor::bfloat16;

template <class T>
void fill_zero(const device::Stream& stream, std::span<T> values) {
    launch<host::fill_zero<T>>(stream, values);
}

void add_to(const device::Stream& stream, std::span<const float> x, std::span<float> into) {
    ZG_EXPECTS(x.size() == into.size());
    launch<host::add_to<float>>(stream, x, into);
}

void add_to(const device::Stream& stream, std::span<const float> x, std::span<bfloat16> into) {
    ZG_EXPECTS(x.size() == into.size());
    launch<host::add_to<bfloat16>>(stream, x, into);
}

template <class From, class To>
void convert(const device::Stream& stream, std::span<const From> from, std::span<To> to) {
    ZG_EXPECTS(from.size() == to.size());
    launch<host::convert<From, To>>(stream, from, to);
}

void copy_bytes(const device::Stream& stream, std::byte* to, const std::byte* from, std::int64_t bytes) {
    ZG_EXPECTS(bytes >= 0);
    launch_copy<host::copy_bytes>(stream, to, from, bytes);
}

template decltype(fill_zero<float>) fill_zero<float>;
template decltype(fill_zero<bfloat16>) fill_zero<bfloat16>;
template decltype(convert<float, float>) convert<float, float>;
template decltype(convert<float, bfloat16>) convert<float, bfloat16>;
template decltype(convert<bfloat16, float>) convert<bfloat16, float>;
template decltype(convert<bfloat16, bfloat16>) convert<bfloat16, bfloat16>;

}  // namespace ziggurat::kernels
