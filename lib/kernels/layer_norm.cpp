#include "kernels/layer_norm.hpp"

#include "base/contract.hpp"
#include "kernels/dropout_check.hpp"
#include "kernels/host/layer_norm_host.hpp"
#include "kernels/launch.hpp"
#include "tensor/bfloat16.hpp"

namespace ziggurat::kernels {

using tensor::TensorRef;

template <class T>
void layer_norm_forward(const device::Stream& stream,
                        TensorRef<const T, 2> x,
                        TensorRef<const T, 1> gain,
                        TensorRef<const T, 1> bias,
                        float epsilon,
                        TensorRef<T, 2> y,
                        TensorRef<float, 1> mean,
                        TensorRef<float, 1> inv_std) {
    ZG_EXPECTS(y.extents == x.extents);
    ZG_EXPECTS(gain.extent(0) == x.extent(1) && bias.extent(0) == x.extent(1));
    ZG_EXPECTS(mean.extent(0) == x.extent(0) && inv_std.extent(0) == x.extent(0));
    launch<host::layer_norm_forward<T>>(stream, x, gain, bias, epsilon, y, mean, inv_std);
}

template <class T>
void residual_layer_norm_forward(const device::Stream& stream,
                                 TensorRef<const T, 2> x,
                                 TensorRef<const T, 2> branch,
                                 const Dropout& dropout,
                                 TensorRef<const T, 1> gain,
                                 TensorRef<const T, 1> bias,
                                 float epsilon,
                                 TensorRef<T, 2> x_out,
                                 TensorRef<T, 2> y,
                                 TensorRef<float, 1> mean,
                                 TensorRef<float, 1> inv_std) {
    ZG_EXPECTS(branch.extents == x.extents && x_out.extents == x.extents && y.extents == x.extents);
    ZG_EXPECTS(gain.extent(0) == x.extent(1) && bias.extent(0) == x.extent(1));
    ZG_EXPECTS(mean.extent(0) == x.extent(0) && inv_std.extent(0) == x.extent(0));
    check_dropout(dropout, x.extent(0));
    launch<host::residual_layer_norm_forward<T>>(stream, x, branch, dropout, gain, bias, epsilon, x_out, y,
                                                 mean, inv_std);
}

template <class T>
void layer_norm_backward(const device::Stream& stream,
                         TensorRef<const T, 2> x,
                         TensorRef<const T, 2> dy,
                         TensorRef<const T, 1> gain,
                         TensorRef<const float, 1> mean,
                         TensorRef<const float, 1> inv_std,
                         TensorRef<T, 2> dx,
                         TensorRef<float, 1> d_gain,
                         TensorRef<float, 1> d_bias,
                         Accumulate accumulate,
                         std::span<std::byte> workspace) {
    ZG_EXPECTS(dy.extents == x.extents && dx.extents == x.extents);
    ZG_EXPECTS(gain.extent(0) == x.extent(1));
    ZG_EXPECTS(d_gain.empty() || d_gain.extent(0) == x.extent(1));
    ZG_EXPECTS(d_bias.empty() || d_bias.extent(0) == x.extent(1));
    ZG_EXPECTS(mean.extent(0) == x.extent(0) && inv_std.extent(0) == x.extent(0));
    launch<host::layer_norm_backward<T>>(stream, x, dy, gain, mean, inv_std, dx, d_gain, d_bias, accumulate,
                                         workspace);
}

template decltype(layer_norm_forward<float>) layer_norm_forward<float>;
template decltype(layer_norm_forward<tensor::bfloat16>) layer_norm_forward<tensor::bfloat16>;
template decltype(residual_layer_norm_forward<float>) residual_layer_norm_forward<float>;
template decltype(residual_layer_norm_forward<tensor::bfloat16>)
    residual_layer_norm_forward<tensor::bfloat16>;
template decltype(layer_norm_backward<float>) layer_norm_backward<float>;
template decltype(layer_norm_backward<tensor::bfloat16>) layer_norm_backward<tensor::bfloat16>;

}  // namespace ziggurat::kernels
