/// Some columns of a matrix as a matrix of their own, back, and added to them.
#pragma once

#include <cstdint>

#include "device/stream.hpp"
#include "kernels/tensor_address.hpp"

namespace ziggurat::kernels {

/// to = from[:, first .. first + width of to).
///
/// Shapes:  from [rows, any]; to [rows, width]
/// Errors:  Error{internal} when shapes disagree
template <class T>
void take_columns(const device::Stream& stream,
                  TensorAddress<const T, 2> from,
                  std::int64_t first,
                  TensorAddress<T, 2> to);

/// to[:, first .. first + width of from) = from; the other columns stay.
template <class T>
void put_columns(const device::Stream& stream,
                 TensorAddress<const T, 2> from,
                 std::int64_t first,
                 TensorAddress<T, 2> to);

/// to[:, first .. first + width of from) += from; the other columns stay.
///
/// Numerics: added in float and rounded once
template <class T>
void add_columns(const device::Stream& stream,
                 TensorAddress<const T, 2> from,
                 std::int64_t first,
                 TensorAddress<T, 2> to);

}  // namespace ziggurat::kernels
