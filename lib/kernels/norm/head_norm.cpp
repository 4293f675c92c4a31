#include "kernels/norm/head_norm.hpp"

#include "base/contract.hpp"
#include "kernels/launch/launch.hpp"
#include "tensor/bfloat16.hpp"

namespace ziggurat::kernels {

template <class T>
void head_norm_forward(const device::Stream& stream,
                       const QkvHeads& shape,
                       TensorAddress<const T, 2> x,
                       VectorAddress<const T> gain,
                       float gain_offset,
                       float epsilon,
                       TensorAddress<T, 2> y) {
    ZG_EXPECTS(x.extent(1) == shape.width() && y.extents() == x.extents());
    ZG_EXPECTS(gain.extent(0) == 2 * shape.head_dim);
    launch<head_norm_forward<T>>(stream, shape, x, gain, gain_offset, epsilon, y);
}

template <class T>
void head_norm_backward(const device::Stream& stream,
                        const QkvHeads& shape,
                        TensorAddress<const T, 2> x,
                        VectorAddress<const T> gain,
                        float gain_offset,
                        float epsilon,
                        TensorAddress<T, 2> dx,
                        VectorAddress<float> d_gain,
                        Accumulate accumulate,
                        VectorAddress<std::byte> workspace) {
    ZG_EXPECTS(x.extent(1) == shape.width() && dx.extents() == x.extents());
    ZG_EXPECTS(gain.extent(0) == 2 * shape.head_dim);
    ZG_EXPECTS(d_gain.empty() || d_gain.extent(0) == gain.extent(0));
    launch<head_norm_backward<T>>(stream, shape, x, gain, gain_offset, epsilon, dx, d_gain, accumulate,
                                  workspace);
}

template decltype(head_norm_forward<float>) head_norm_forward<float>;
template decltype(head_norm_forward<tensor::bfloat16>) head_norm_forward<tensor::bfloat16>;
template decltype(head_norm_backward<float>) head_norm_backward<float>;
template decltype(head_norm_backward<tensor::bfloat16>) head_norm_backward<tensor::bfloat16>;

}  // namespace ziggurat::kernels
