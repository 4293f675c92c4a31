/// Small sweeps over flat buffers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "device/stream.hpp"
#include "tensor/bfloat16.hpp"

namespace ziggurat::kernels {

/// All elements become zero. T: float, bfloat16.
template <class T>
void fill_zero(const device::Stream& stream, std::span<T> values);

/// into += x, element by element.
///
/// Numerics: added in float and rounded once to the type of `into`
/// Errors:   Error{internal} when lengths disagree
void add_to(const device::Stream& stream, std::span<const float> x, std::span<float> into);
void add_to(const device::Stream& stream, std::span<const float> x, std::span<tensor::bfloat16> into);

/// to = from, rounded to nearest even where To is the narrower type. From, To: float, bfloat16.
///
/// Errors: Error{internal} when lengths disagree
template <class From, class To>
void convert(const device::Stream& stream, std::span<const From> from, std::span<To> to);

/// Copies `bytes`; the two ranges do not overlap. On the host all threads of the stream copy; elsewhere it is
/// device::copy, and each side is memory of the device or of the host.
///
/// Async: on `stream`
void copy_bytes(const device::Stream& stream, std::byte* to, const std::byte* from, std::int64_t bytes);

}  // namespace ziggurat::kernels
