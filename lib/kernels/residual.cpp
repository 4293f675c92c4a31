#include "kernels/residual.hpp"

#include "base/contract.hpp"
#include "kernels/launch/dropout_check.hpp"
#include "kernels/launch/launch.hpp"
#include "tensor/bfloat16.hpp"

namespace ziggurat::kernels {

template <class T>
void residual_forward(const device::Stream& stream,
                      TensorAddress<const T, 2> x,
                      TensorAddress<const T, 2> branch,
                      const Dropout& dropout,
                      TensorAddress<T, 2> y) {
    ZG_EXPECTS(branch.extents() == x.extents() && y.extents() == x.extents());
    check_dropout(dropout, x.extent(0));
    launch<residual_forward<T>>(stream, x, branch, dropout, y);
}

template <class T>
void dropout_backward(const device::Stream& stream,
                      TensorAddress<const T, 2> dy,
                      const Dropout& dropout,
                      TensorAddress<T, 2> dx) {
    ZG_EXPECTS(dx.extents() == dy.extents());
    check_dropout(dropout, dy.extent(0));
    launch<dropout_backward<T>>(stream, dy, dropout, dx);
}

template decltype(residual_forward<float>) residual_forward<float>;
template decltype(residual_forward<tensor::bfloat16>) residual_forward<tensor::bfloat16>;
template decltype(dropout_backward<float>) dropout_backward<float>;
template decltype(dropout_backward<tensor::bfloat16>) dropout_backward<tensor::bfloat16>;

}  // namespace ziggurat::kernels
