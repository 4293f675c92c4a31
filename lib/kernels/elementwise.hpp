/// Elementwise operations on flat buffers.
#pragma once

#include <cstddef>
#include <cstdint>

#include "device/stream.hpp"
#include "kernels/launch/tensor_address.hpp"
#include "tensor/bfloat16.hpp"

namespace ziggurat::kernels {

/// Sets all elements to zero. T: float, bfloat16.
template <class T>
void fill_zero(const device::Stream& stream, VectorAddress<T> values);

/// Computes into += x. Sum: float, bfloat16.
///
/// Numerics: added in float and rounded once to the type of `into`
/// Errors:   Error{internal} if lengths disagree
template <class Sum>
void add_to(const device::Stream& stream, VectorAddress<const float> x, VectorAddress<Sum> into);

/// Computes values *= factor. T: float, bfloat16.
///
/// Numerics: multiplied in float and rounded once
template <class T>
void scale(const device::Stream& stream, float factor, VectorAddress<T> values);

/// Computes to = from, rounded to nearest even if To is narrower. From, To: float, bfloat16.
///
/// Errors: Error{internal} if lengths disagree
template <class From, class To>
void convert(const device::Stream& stream, VectorAddress<const From> from, VectorAddress<To> to);

/// Copies `from` to `to`, which must not overlap.
///
/// On the host all threads of the stream copy. On a device it is device::copy, and each side may be memory of
/// the device or of the host.
///
/// Async: on `stream`
void copy_bytes(const device::Stream& stream,
                VectorAddress<std::byte> to,
                VectorAddress<const std::byte> from);

}  // namespace ziggurat::kernels
