#include "kernels/gelu.hpp"

#include "base/contract.hpp"
#include "kernels/launch/launch.hpp"
#include "tensor/bfloat16.hpp"

namespace ziggurat::kernels {

template <class T>
void gelu_forward(const device::Stream& stream, TensorAddress<const T, 2> x, TensorAddress<T, 2> y) {
    ZG_EXPECTS(y.extents() == x.extents());
    launch<gelu_forward<T>>(stream, x, y);
}

template <class T>
void gelu_backward(const device::Stream& stream, TensorAddress<const T, 2> x, TensorAddress<T, 2> dy) {
    ZG_EXPECTS(dy.extents() == x.extents());
    launch<gelu_backward<T>>(stream, x, dy);
}

template <class T>
void gelu_erf_forward(const device::Stream& stream, TensorAddress<const T, 2> x, TensorAddress<T, 2> y) {
    ZG_EXPECTS(y.extents() == x.extents());
    launch<gelu_erf_forward<T>>(stream, x, y);
}

template <class T>
void gelu_erf_backward(const device::Stream& stream, TensorAddress<const T, 2> x, TensorAddress<T, 2> dy) {
    ZG_EXPECTS(dy.extents() == x.extents());
    launch<gelu_erf_backward<T>>(stream, x, dy);
}

template decltype(gelu_forward<float>) gelu_forward<float>;
template decltype(gelu_forward<tensor::bfloat16>) gelu_forward<tensor::bfloat16>;
template decltype(gelu_backward<float>) gelu_backward<float>;
template decltype(gelu_backward<tensor::bfloat16>) gelu_backward<tensor::bfloat16>;
template decltype(gelu_erf_forward<float>) gelu_erf_forward<float>;
template decltype(gelu_erf_forward<tensor::bfloat16>) gelu_erf_forward<tensor::bfloat16>;
template decltype(gelu_erf_backward<float>) gelu_erf_backward<float>;
template decltype(gelu_erf_backward<tensor::bfloat16>) gelu_erf_backward<tensor::bfloat16>;

}  // namespace ziggurat::kernels
