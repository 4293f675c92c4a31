/// Host siblings of column_sum.hpp; only column_sum.cpp and *_host.cpp files include it.
#pragma once

#include "kernels/column_sum.hpp"

namespace ziggurat::kernels::host {

template <class T>
void column_sum(const device::Stream& stream,
                tensor::TensorRef<const T, 2> dy,
                tensor::TensorRef<float, 1> out,
                Accumulate accumulate,
                std::span<std::byte> workspace);

}  // namespace ziggurat::kernels::host
