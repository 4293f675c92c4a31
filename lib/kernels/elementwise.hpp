/// Small sweeps over flat buffers.
#pragma once

#include <cstddef>
#include <cstdint>

#include "device/stream.hpp"
#include "kernels/tensor_address.hpp"
#include "tensor/bfloat16.hpp"

namespace ziggurat::kernels {

/// All elements become zero. T: float, bfloat16.
template <class T>
void fill_zero(const device::Stream& stream, VectorAddress<T> values);

/// into += x, element by element. Sum: float, bfloat16.
///
/// Numerics: added in float and rounded once to the type of `into`
/// Errors:   Error{internal} when lengths disagree
template <class Sum>
void add_to(const device::Stream& stream, VectorAddress<const float> x, VectorAddress<Sum> into);

/// values *= factor. T: float, bfloat16.
///
/// Numerics: multiplied in float and rounded once
template <class T>
void scale(const device::Stream& stream, float factor, VectorAddress<T> values);

/// to = from, rounded to nearest even where To is the narrower type. From, To: float, bfloat16.
///
/// Errors: Error{internal} when lengths disagree
template <class From, class To>
void convert(const device::Stream& stream, VectorAddress<const From> from, VectorAddress<To> to);

/// to = from; the two do not overlap. On the host all threads of the stream copy; elsewhere it is
/// device::copy, and each side is memory of the device or of the host.
///
/// Async: on `stream`
void copy_bytes(const device::Stream& stream,
                VectorAddress<std::byte> to,
                VectorAddress<const std::byte> from);

}  // namespace ziggurat::kernels
