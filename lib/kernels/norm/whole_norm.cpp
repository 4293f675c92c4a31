#include "kernels/norm/whole_norm.hpp"

#include "base/contract.hpp"
#include "kernels/launch/launch.hpp"
#include "tensor/bfloat16.hpp"

namespace ziggurat::kernels {
namespace {

/// Returns true if `sums` has one sum of queries and one of keys for each of `rows`.
template <class T>
bool are_sums_of(const TensorAddress<T, 2>& sums, std::int64_t rows) {
    return sums.extent(0) == rows && sums.extent(1) == 2;
}

std::int64_t normalized_width(const QkvHeads& shape) {
    return (shape.heads + shape.kv_heads) * shape.head_dim;
}

}  // namespace

template <class T>
void square_sums(const device::Stream& stream,
                 const QkvHeads& shape,
                 TensorAddress<const T, 2> x,
                 TensorAddress<float, 2> sums) {
    ZG_EXPECTS(x.extent(1) == shape.width() && are_sums_of(sums, x.extent(0)));
    launch<square_sums<T>>(stream, shape, x, sums);
}

template <class T>
void square_sums_backward(const device::Stream& stream,
                          const QkvHeads& shape,
                          TensorAddress<const T, 2> x,
                          TensorAddress<const float, 2> d_sums,
                          TensorAddress<T, 2> dx) {
    ZG_EXPECTS(x.extent(1) == shape.width() && dx.extents() == x.extents());
    ZG_EXPECTS(are_sums_of(d_sums, x.extent(0)));
    launch<square_sums_backward<T>>(stream, shape, x, d_sums, dx);
}

template <class T>
void whole_norm_forward(const device::Stream& stream,
                        const QkvHeads& shape,
                        int ranks,
                        TensorAddress<const T, 2> x,
                        TensorAddress<const float, 2> sums,
                        VectorAddress<const T> gain,
                        float epsilon,
                        TensorAddress<T, 2> y) {
    ZG_EXPECTS(x.extent(1) == shape.width() && y.extents() == x.extents());
    ZG_EXPECTS(are_sums_of(sums, x.extent(0)) && gain.extent(0) == normalized_width(shape) && ranks > 0);
    launch<whole_norm_forward<T>>(stream, shape, ranks, x, sums, gain, epsilon, y);
}

template <class T>
void whole_norm_backward(const device::Stream& stream,
                         const QkvHeads& shape,
                         int ranks,
                         TensorAddress<const T, 2> x,
                         TensorAddress<const float, 2> sums,
                         VectorAddress<const T> gain,
                         float epsilon,
                         TensorAddress<T, 2> dx,
                         TensorAddress<float, 2> d_sums,
                         VectorAddress<float> d_gain,
                         Accumulate accumulate,
                         VectorAddress<std::byte> workspace) {
    ZG_EXPECTS(x.extent(1) == shape.width() && dx.extents() == x.extents());
    ZG_EXPECTS(are_sums_of(sums, x.extent(0)) && gain.extent(0) == normalized_width(shape) && ranks > 0);
    ZG_EXPECTS(d_sums.empty() || are_sums_of(d_sums, x.extent(0)));
    ZG_EXPECTS(d_gain.empty() || d_gain.extent(0) == gain.extent(0));
    launch<whole_norm_backward<T>>(stream, shape, ranks, x, sums, gain, epsilon, dx, d_sums, d_gain,
                                   accumulate, workspace);
}

#define ZG_INSTANTIATE(T)                                               \
    template decltype(square_sums<T>) square_sums<T>;                   \
    template decltype(square_sums_backward<T>) square_sums_backward<T>; \
    template decltype(whole_norm_forward<T>) whole_norm_forward<T>;     \
    template decltype(whole_norm_backward<T>) whole_norm_backward<T>;
ZG_INSTANTIATE(float)
ZG_INSTANTIATE(tensor::bfloat16)
#undef ZG_INSTANTIATE

}  // namespace ziggurat::kernels
