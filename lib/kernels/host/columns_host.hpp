/// Host siblings of columns.hpp; only columns.cpp and *_host.cpp files include it.
#pragma once

#include "kernels/columns.hpp"

namespace ziggurat::kernels::host {

template <class T>
void take_columns(const device::Stream& stream,
                  tensor::TensorRef<const T, 2> from,
                  std::int64_t first,
                  tensor::TensorRef<T, 2> to);
template <class T>
void put_columns(const device::Stream& stream,
                 tensor::TensorRef<const T, 2> from,
                 std::int64_t first,
                 tensor::TensorRef<T, 2> to);

}  // namespace ziggurat::kernels::host
