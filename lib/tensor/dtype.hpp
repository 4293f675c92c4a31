/// Element types of buffers.
#pragma once

#include <cstdint>

#include "tensor/bfloat16.hpp"

namespace ziggurat::tensor {

template <class T>
inline constexpr bool is_compute_type = false;
template <>
inline constexpr bool is_compute_type<float> = true;
template <>
inline constexpr bool is_compute_type<bfloat16> = true;

}  // namespace ziggurat::tensor
