#include "kernels/residual.hpp"

#include "base/contract.hpp"
#include "kernels/dropout_check.hpp"
#include "kernels/host/residual_host.hpp"
#include "kernels/launch.hpp"
#include "tensor/bfloat16.hpp"

namespace ziggurat::kernels {

using tensor::TensorRef;

template <class T>
void residual_forward(const device::Stream& stream,
                      TensorRef<const T, 2> x,
                      TensorRef<const T, 2> branch,
                      const Dropout& dropout,
                      TensorRef<T, 2> y) {
    ZG_EXPECTS(branch.extents == x.extents && y.extents == x.extents);
    check_dropout(dropout, x.extent(0));
    launch<host::residual_forward<T>>(stream, x, branch, dropout, y);
}

template <class T>
void dropout_backward(const device::Stream& stream,
                      TensorRef<const T, 2> dy,
                      const Dropout& dropout,
                      TensorRef<T, 2> dx) {
    ZG_EXPECTS(dx.extents == dy.extents);
    check_dropout(dropout, dy.extent(0));
    launch<host::dropout_backward<T>>(stream, dy, dropout, dx);
}

template decltype(residual_forward<float>) residual_forward<float>;
template decltype(residual_forward<tensor::bfloat16>) residual_forward<tensor::bfloat16>;
template decltype(dropout_backward<float>) dropout_backward<float>;
template decltype(dropout_backward<tensor::bfloat16>) dropout_backward<tensor::bfloat16>;

}  // namespace ziggurat::kernels
