#include "kernels/norm/layer_norm.hpp"

#include "base/contract.hpp"
#include "kernels/launch/dropout_check.hpp"
#include "kernels/launch/launch.hpp"
#include "tensor/bfloat16.hpp"

namespace ziggurat::kernels {

template <class T>
void layer_norm_forward(const device::Stream& stream,
                        TensorAddress<const T, 2> x,
                        VectorAddress<const T> gain,
                        VectorAddress<const T> bias,
                        float epsilon,
                        TensorAddress<T, 2> y,
                        VectorAddress<float> mean,
                        VectorAddress<float> inv_std) {
    ZG_EXPECTS(y.extents() == x.extents());
    ZG_EXPECTS(gain.extent(0) == x.extent(1) && bias.extent(0) == x.extent(1));
    ZG_EXPECTS(mean.extent(0) == x.extent(0) && inv_std.extent(0) == x.extent(0));
    launch<layer_norm_forward<T>>(stream, x, gain, bias, epsilon, y, mean, inv_std);
}

template <class T>
void residual_layer_norm_forward(const device::Stream& stream,
                                 TensorAddress<const T, 2> x,
                                 TensorAddress<const T, 2> branch,
                                 const Dropout& dropout,
                                 VectorAddress<const T> gain,
                                 VectorAddress<const T> bias,
                                 float epsilon,
                                 TensorAddress<T, 2> x_out,
                                 TensorAddress<T, 2> y,
                                 VectorAddress<float> mean,
                                 VectorAddress<float> inv_std) {
    ZG_EXPECTS(branch.extents() == x.extents() && x_out.extents() == x.extents() &&
               y.extents() == x.extents());
    ZG_EXPECTS(gain.extent(0) == x.extent(1) && bias.extent(0) == x.extent(1));
    ZG_EXPECTS(mean.extent(0) == x.extent(0) && inv_std.extent(0) == x.extent(0));
    check_dropout(dropout, x.extent(0));
    ZG_EXPECTS(dropout.first_channel == 0);  // a norm has whole rows
    launch<residual_layer_norm_forward<T>>(stream, x, branch, dropout, gain, bias, epsilon, x_out, y, mean,
                                           inv_std);
}

template <class T>
void layer_norm_backward(const device::Stream& stream,
                         TensorAddress<const T, 2> x,
                         TensorAddress<const T, 2> dy,
                         VectorAddress<const T> gain,
                         VectorAddress<const float> mean,
                         VectorAddress<const float> inv_std,
                         TensorAddress<T, 2> dx,
                         Accumulate add_to_dx,
                         VectorAddress<float> d_gain,
                         VectorAddress<float> d_bias,
                         Accumulate accumulate,
                         VectorAddress<std::byte> workspace) {
    ZG_EXPECTS(dy.extents() == x.extents() && dx.extents() == x.extents());
    ZG_EXPECTS(gain.extent(0) == x.extent(1));
    ZG_EXPECTS(d_gain.empty() || d_gain.extent(0) == x.extent(1));
    ZG_EXPECTS(d_bias.empty() || d_bias.extent(0) == x.extent(1));
    ZG_EXPECTS(mean.extent(0) == x.extent(0) && inv_std.extent(0) == x.extent(0));
    launch<layer_norm_backward<T>>(stream, x, dy, gain, mean, inv_std, dx, add_to_dx, d_gain, d_bias,
                                   accumulate, workspace);
}

template decltype(layer_norm_forward<float>) layer_norm_forward<float>;
template decltype(layer_norm_forward<tensor::bfloat16>) layer_norm_forward<tensor::bfloat16>;
template decltype(residual_layer_norm_forward<float>) residual_layer_norm_forward<float>;
template decltype(residual_layer_norm_forward<tensor::bfloat16>)
    residual_layer_norm_forward<tensor::bfloat16>;
template decltype(layer_norm_backward<float>) layer_norm_backward<float>;
template decltype(layer_norm_backward<tensor::bfloat16>) layer_norm_backward<tensor::bfloat16>;

}  // namespace ziggurat::kernels
