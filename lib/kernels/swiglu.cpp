#include "kernels/swiglu.hpp"

#include "base/contract.hpp"
#include "kernels/launch/launch.hpp"
#include "tensor/bfloat16.hpp"

namespace ziggurat::kernels {

template <class T>
void swiglu_forward(const device::Stream& stream, TensorAddress<const T, 2> x, TensorAddress<T, 2> y) {
    ZG_EXPECTS(x.extent(0) == y.extent(0) && x.extent(1) == 2 * y.extent(1));
    launch<swiglu_forward<T>>(stream, x, y);
}

template <class T>
void swiglu_backward(const device::Stream& stream,
                     TensorAddress<const T, 2> x,
                     TensorAddress<const T, 2> dy,
                     TensorAddress<T, 2> dx) {
    ZG_EXPECTS(dx.extents() == x.extents());
    ZG_EXPECTS(x.extent(0) == dy.extent(0) && x.extent(1) == 2 * dy.extent(1));
    launch<swiglu_backward<T>>(stream, x, dy, dx);
}

template decltype(swiglu_forward<float>) swiglu_forward<float>;
template decltype(swiglu_forward<tensor::bfloat16>) swiglu_forward<tensor::bfloat16>;
template decltype(swiglu_backward<float>) swiglu_backward<float>;
template decltype(swiglu_backward<tensor::bfloat16>) swiglu_backward<tensor::bfloat16>;

}  // namespace ziggurat::kernels
