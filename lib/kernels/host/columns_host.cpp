#include <algorithm>

#include "kernels/host/columns_host.hpp"
#include "kernels/host/rows_host.hpp"
#include "tensor/bfloat16.hpp"

namespace ziggurat::kernels::host {

using tensor::TensorRef;

template <class T>
void take_columns(const device::Stream&, TensorRef<const T, 2> from, std::int64_t first, TensorRef<T, 2> to) {
    for_rows("ziggurat::take_columns", to.extent(0),
             [=](std::int64_t row) { std::copy_n(from.row(row) + first, to.extent(1), to.row(row)); });
}

template <class T>
void put_columns(const device::Stream&, TensorRef<const T, 2> from, std::int64_t first, TensorRef<T, 2> to) {
    for_rows("ziggurat::put_columns", from.extent(0),
             [=](std::int64_t row) { std::copy_n(from.row(row), from.extent(1), to.row(row) + first); });
}

template decltype(take_columns<float>) take_columns<float>;
template decltype(take_columns<tensor::bfloat16>) take_columns<tensor::bfloat16>;
template decltype(put_columns<float>) put_columns<float>;
template decltype(put_columns<tensor::bfloat16>) put_columns<tensor::bfloat16>;

}  // namespace ziggurat::kernels::host
