#include "kernels/norm/rms_norm.hpp"

#include "base/contract.hpp"
#include "kernels/launch/dropout_check.hpp"
#include "kernels/launch/launch.hpp"
#include "tensor/bfloat16.hpp"

namespace ziggurat::kernels {

template <class T>
void rms_norm_forward(const device::Stream& stream,
                      TensorAddress<const T, 2> x,
                      VectorAddress<const T> gain,
                      float gain_offset,
                      float epsilon,
                      TensorAddress<T, 2> y,
                      VectorAddress<float> inv_rms) {
    ZG_EXPECTS(y.extents() == x.extents());
    ZG_EXPECTS(gain.extent(0) == x.extent(1));
    ZG_EXPECTS(inv_rms.extent(0) == x.extent(0));
    launch<rms_norm_forward<T>>(stream, x, gain, gain_offset, epsilon, y, inv_rms);
}

template <class T>
void residual_rms_norm_forward(const device::Stream& stream,
                               TensorAddress<const T, 2> x,
                               TensorAddress<const T, 2> branch,
                               const Dropout& dropout,
                               VectorAddress<const T> gain,
                               float gain_offset,
                               float epsilon,
                               TensorAddress<T, 2> x_out,
                               TensorAddress<T, 2> y,
                               VectorAddress<float> inv_rms) {
    ZG_EXPECTS(branch.extents() == x.extents() && x_out.extents() == x.extents() &&
               y.extents() == x.extents());
    ZG_EXPECTS(gain.extent(0) == x.extent(1));
    ZG_EXPECTS(inv_rms.extent(0) == x.extent(0));
    check_dropout(dropout, x.extent(0));
    ZG_EXPECTS(dropout.first_channel == 0);  // a norm has whole rows
    launch<residual_rms_norm_forward<T>>(stream, x, branch, dropout, gain, gain_offset, epsilon, x_out, y,
                                         inv_rms);
}

template <class T>
void rms_norm_backward(const device::Stream& stream,
                       TensorAddress<const T, 2> x,
                       TensorAddress<const T, 2> dy,
                       VectorAddress<const T> gain,
                       float gain_offset,
                       VectorAddress<const float> inv_rms,
                       TensorAddress<T, 2> dx,
                       Accumulate add_to_dx,
                       VectorAddress<float> d_gain,
                       Accumulate accumulate,
                       VectorAddress<std::byte> workspace) {
    ZG_EXPECTS(dy.extents() == x.extents() && dx.extents() == x.extents());
    ZG_EXPECTS(gain.extent(0) == x.extent(1));
    ZG_EXPECTS(d_gain.empty() || d_gain.extent(0) == x.extent(1));
    ZG_EXPECTS(inv_rms.extent(0) == x.extent(0));
    launch<rms_norm_backward<T>>(stream, x, dy, gain, gain_offset, inv_rms, dx, add_to_dx, d_gain, accumulate,
                                 workspace);
}

template decltype(rms_norm_forward<float>) rms_norm_forward<float>;
template decltype(rms_norm_forward<tensor::bfloat16>) rms_norm_forward<tensor::bfloat16>;
template decltype(residual_rms_norm_forward<float>) residual_rms_norm_forward<float>;
template decltype(residual_rms_norm_forward<tensor::bfloat16>) residual_rms_norm_forward<tensor::bfloat16>;
template decltype(rms_norm_backward<float>) rms_norm_backward<float>;
template decltype(rms_norm_backward<tensor::bfloat16>) rms_norm_backward<tensor::bfloat16>;

}  // namespace ziggurat::kernels
