#include "kernels/columns.hpp"

#include "base/contract.hpp"
#include "kernels/launch/launch.hpp"
#include "tensor/bfloat16.hpp"

namespace ziggurat::kernels {

template <class T>
void take_columns(const device::Stream& stream,
                  TensorAddress<const T, 2> from,
                  std::int64_t first,
                  TensorAddress<T, 2> to) {
    ZG_EXPECTS(from.extent(0) == to.extent(0) && first >= 0 && first + to.extent(1) <= from.extent(1));
    launch<take_columns<T>>(stream, from, first, to);
}

template <class T>
void put_columns(const device::Stream& stream,
                 TensorAddress<const T, 2> from,
                 std::int64_t first,
                 TensorAddress<T, 2> to) {
    ZG_EXPECTS(from.extent(0) == to.extent(0) && first >= 0 && first + from.extent(1) <= to.extent(1));
    launch<put_columns<T>>(stream, from, first, to);
}

template <class T>
void add_columns(const device::Stream& stream,
                 TensorAddress<const T, 2> from,
                 std::int64_t first,
                 TensorAddress<T, 2> to) {
    ZG_EXPECTS(from.extent(0) == to.extent(0) && first >= 0 && first + from.extent(1) <= to.extent(1));
    launch<add_columns<T>>(stream, from, first, to);
}

template decltype(take_columns<float>) take_columns<float>;
template decltype(take_columns<tensor::bfloat16>) take_columns<tensor::bfloat16>;
template decltype(put_columns<float>) put_columns<float>;
template decltype(put_columns<tensor::bfloat16>) put_columns<tensor::bfloat16>;
template decltype(add_columns<float>) add_columns<float>;
template decltype(add_columns<tensor::bfloat16>) add_columns<tensor::bfloat16>;

}  // namespace ziggurat::kernels
