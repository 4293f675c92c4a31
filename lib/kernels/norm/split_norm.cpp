#include "kernels/norm/split_norm.hpp"

#include "base/contract.hpp"
#include "kernels/launch/launch.hpp"
#include "tensor/bfloat16.hpp"

namespace ziggurat::kernels {
namespace {

/// Returns true if `sums` has one or two sums for each of `rows`.
template <class T>
bool has_sums_of(const TensorAddress<T, 2>& sums, std::int64_t rows) {
    return sums.extent(0) == rows && (sums.extent(1) == 1 || sums.extent(1) == 2);
}

}  // namespace

template <class T>
void row_sums(const device::Stream& stream, TensorAddress<const T, 2> x, TensorAddress<float, 2> sums) {
    ZG_EXPECTS(has_sums_of(sums, x.extent(0)));
    launch<row_sums<T>>(stream, x, sums);
}

template <class T>
void row_sums_backward(const device::Stream& stream,
                       TensorAddress<const T, 2> x,
                       TensorAddress<const float, 2> d_sums,
                       TensorAddress<T, 2> dx) {
    ZG_EXPECTS(has_sums_of(d_sums, x.extent(0)) && dx.extents() == x.extents());
    launch<row_sums_backward<T>>(stream, x, d_sums, dx);
}

template <class T>
void split_norm_forward(const device::Stream& stream,
                        const SplitNorm& norm,
                        TensorAddress<const T, 2> x,
                        TensorAddress<const float, 2> sums,
                        VectorAddress<const T> gain,
                        VectorAddress<const T> bias,
                        TensorAddress<T, 2> y) {
    const auto part = x.extent(1);
    ZG_EXPECTS(has_sums_of(sums, x.extent(0)) && y.extents() == x.extents());
    ZG_EXPECTS(gain.extent(0) == part && norm.width >= part);
    ZG_EXPECTS(sums.extent(1) == 1 ? bias.empty() : bias.extent(0) == part);
    launch<split_norm_forward<T>>(stream, norm, x, sums, gain, bias, y);
}

template <class T>
void split_norm_backward(const device::Stream& stream,
                         const SplitNorm& norm,
                         TensorAddress<const T, 2> x,
                         TensorAddress<const T, 2> dy,
                         TensorAddress<const float, 2> sums,
                         VectorAddress<const T> gain,
                         TensorAddress<T, 2> dx,
                         Accumulate add_to_dx,
                         TensorAddress<float, 2> d_sums,
                         VectorAddress<float> d_gain,
                         VectorAddress<float> d_bias,
                         Accumulate accumulate,
                         VectorAddress<std::byte> workspace) {
    const auto part = x.extent(1);
    ZG_EXPECTS(has_sums_of(sums, x.extent(0)) && dy.extents() == x.extents() && dx.extents() == x.extents());
    ZG_EXPECTS(gain.extent(0) == part && norm.width >= part);
    ZG_EXPECTS(d_sums.empty() || d_sums.extents() == sums.extents());
    ZG_EXPECTS(d_gain.empty() || d_gain.extent(0) == part);
    ZG_EXPECTS(d_bias.empty() || d_bias.extent(0) == part);
    launch<split_norm_backward<T>>(stream, norm, x, dy, sums, gain, dx, add_to_dx, d_sums, d_gain, d_bias,
                                   accumulate, workspace);
}

#define ZG_INSTANTIATE(T)                                           \
    template decltype(row_sums<T>) row_sums<T>;                     \
    template decltype(row_sums_backward<T>) row_sums_backward<T>;   \
    template decltype(split_norm_forward<T>) split_norm_forward<T>; \
    template decltype(split_norm_backward<T>) split_norm_backward<T>;
ZG_INSTANTIATE(float)
ZG_INSTANTIATE(tensor::bfloat16)
#undef ZG_INSTANTIATE

}  // namespace ziggurat::kernels
