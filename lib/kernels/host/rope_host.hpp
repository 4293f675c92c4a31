/// Host siblings of rope.hpp; only rope.cpp and *_host.cpp files include it.
#pragma once

#include "kernels/rope.hpp"

namespace ziggurat::kernels::host {

template <class T>
void rope(const device::Stream& stream,
          const AttentionShape& shape,
          tensor::TensorRef<const std::int32_t, 1> positions,
          tensor::TensorRef<const float, 3> table,
          RopeDirection direction,
          tensor::TensorRef<T, 2> qkv);

}  // namespace ziggurat::kernels::host
