#include "kernels/elementwise.hpp"

#include "base/contract.hpp"
#include "kernels/launch/launch.hpp"

namespace ziggurat::kernels {

using tensor::bfloat16;

template <class T>
void fill_zero(const device::Stream& stream, VectorAddress<T> values) {
    launch<fill_zero<T>>(stream, values);
}

template <class Sum>
void add_to(const device::Stream& stream, VectorAddress<const float> x, VectorAddress<Sum> into) {
    ZG_EXPECTS(x.size() == into.size());
    launch<add_to<Sum>>(stream, x, into);
}

template <class T>
void scale(const device::Stream& stream, float factor, VectorAddress<T> values) {
    launch<scale<T>>(stream, factor, values);
}

template <class From, class To>
void convert(const device::Stream& stream, VectorAddress<const From> from, VectorAddress<To> to) {
    ZG_EXPECTS(from.size() == to.size());
    launch<convert<From, To>>(stream, from, to);
}

void copy_bytes(const device::Stream& stream,
                VectorAddress<std::byte> to,
                VectorAddress<const std::byte> from) {
    ZG_EXPECTS(to.size() == from.size());
    launch_copy<copy_bytes>(stream, to, from);
}

template decltype(fill_zero<float>) fill_zero<float>;
template decltype(fill_zero<bfloat16>) fill_zero<bfloat16>;
template decltype(add_to<float>) add_to<float>;
template decltype(add_to<bfloat16>) add_to<bfloat16>;
template decltype(scale<float>) scale<float>;
template decltype(scale<bfloat16>) scale<bfloat16>;
template decltype(convert<float, float>) convert<float, float>;
template decltype(convert<float, bfloat16>) convert<float, bfloat16>;
template decltype(convert<bfloat16, float>) convert<bfloat16, float>;
template decltype(convert<bfloat16, bfloat16>) convert<bfloat16, bfloat16>;

}  // namespace ziggurat::kernels
