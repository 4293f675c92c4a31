/// Copies of matrix columns to and from a contiguous matrix, and addition to columns.
#pragma once

#include <cstdint>

#include "device/stream.hpp"
#include "kernels/launch/tensor_address.hpp"

namespace ziggurat::kernels {

/// Computes to = from[:, first .. first + width of to).
///
/// Shapes:  from [rows, any]; to [rows, width]
/// Errors:  Error{internal} if shapes disagree
template <class T>
void take_columns(const device::Stream& stream,
                  TensorAddress<const T, 2> from,
                  std::int64_t first,
                  TensorAddress<T, 2> to);

/// Computes to[:, first .. first + width of from) = from. The other columns do not change.
template <class T>
void put_columns(const device::Stream& stream,
                 TensorAddress<const T, 2> from,
                 std::int64_t first,
                 TensorAddress<T, 2> to);

/// Computes to[:, first .. first + width of from) += from. The other columns do not change.
///
/// Numerics: added in float and rounded once
template <class T>
void add_columns(const device::Stream& stream,
                 TensorAddress<const T, 2> from,
                 std::int64_t first,
                 TensorAddress<T, 2> to);

}  // namespace ziggurat::kernels
