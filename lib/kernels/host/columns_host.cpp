#include <algorithm>

#include "kernels/columns.hpp"
#include "kernels/host/kernel_backend_host.hpp"
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

template <class T>
void add_columns(const device::Stream&, TensorRef<const T, 2> from, std::int64_t first, TensorRef<T, 2> to) {
    for_rows("ziggurat::add_columns", from.extent(0), [=](std::int64_t row) {
        const T* x = from.row(row);
        T* into = to.row(row) + first;
#pragma omp simd
        for (std::int64_t i = 0; i < from.extent(1); ++i) {
            tensor::store(into[i], float(into[i]) + float(x[i]));
        }
    });
}

ZG_REGISTER_HOST_KERNEL(take_columns<float>);
ZG_REGISTER_HOST_KERNEL(take_columns<tensor::bfloat16>);
ZG_REGISTER_HOST_KERNEL(put_columns<float>);
ZG_REGISTER_HOST_KERNEL(put_columns<tensor::bfloat16>);
ZG_REGISTER_HOST_KERNEL(add_columns<float>);
ZG_REGISTER_HOST_KERNEL(add_columns<tensor::bfloat16>);

}  // namespace ziggurat::kernels::host
