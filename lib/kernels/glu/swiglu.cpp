#include "kernels/glu/swiglu.hpp"

#include "base/contract.hpp"
#include "kernels/launch/launch.hpp"
#include "tensor/bfloat16.hpp"

namespace ziggurat::kernels {

namespace {

template <class T>
void check_forward(TensorAddress<const T, 2> x, TensorAddress<T, 2> y) {
    ZG_EXPECTS(x.extent(0) == y.extent(0) && x.extent(1) == 2 * y.extent(1));
}

template <class T>
void check_backward(TensorAddress<const T, 2> x,
                    TensorAddress<const T, 2> dy,
                    TensorAddress<T, 2> dx,
                    TensorAddress<T, 2> y) {
    ZG_EXPECTS(dx.extents() == x.extents() && x.extent(1) % 2 == 0);
    const auto width = x.extent(1) / 2;
    const bool is_in_gates = y.empty() && dy.number() == dx.number() && dy.extents() == dx.extents();
    ZG_EXPECTS(x.extent(0) == dy.extent(0) && (dy.extent(1) == width || is_in_gates));
    ZG_EXPECTS(y.empty() || (y.extent(0) == dy.extent(0) && y.extent(1) == width));
}

}  // namespace

template <class T>
void swiglu_forward(const device::Stream& stream, TensorAddress<const T, 2> x, TensorAddress<T, 2> y) {
    check_forward<T>(x, y);
    launch<swiglu_forward<T>>(stream, x, y);
}

template <class T>
void swiglu_backward(const device::Stream& stream,
                     TensorAddress<const T, 2> x,
                     TensorAddress<const T, 2> dy,
                     TensorAddress<T, 2> dx,
                     TensorAddress<T, 2> y) {
    check_backward<T>(x, dy, dx, y);
    launch<swiglu_backward<T>>(stream, x, dy, dx, y);
}

template <class T>
void geglu_forward(const device::Stream& stream, TensorAddress<const T, 2> x, TensorAddress<T, 2> y) {
    check_forward<T>(x, y);
    launch<geglu_forward<T>>(stream, x, y);
}

template <class T>
void geglu_backward(const device::Stream& stream,
                    TensorAddress<const T, 2> x,
                    TensorAddress<const T, 2> dy,
                    TensorAddress<T, 2> dx,
                    TensorAddress<T, 2> y) {
    check_backward<T>(x, dy, dx, y);
    launch<geglu_backward<T>>(stream, x, dy, dx, y);
}

template decltype(swiglu_forward<float>) swiglu_forward<float>;
template decltype(swiglu_forward<tensor::bfloat16>) swiglu_forward<tensor::bfloat16>;
template decltype(swiglu_backward<float>) swiglu_backward<float>;
template decltype(swiglu_backward<tensor::bfloat16>) swiglu_backward<tensor::bfloat16>;
template decltype(geglu_forward<float>) geglu_forward<float>;
template decltype(geglu_forward<tensor::bfloat16>) geglu_forward<tensor::bfloat16>;
template decltype(geglu_backward<float>) geglu_backward<float>;
template decltype(geglu_backward<tensor::bfloat16>) geglu_backward<tensor::bfloat16>;

}  // namespace ziggurat::kernels
