/// Small sweeps over flat buffers.
#pragma once

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

}  // namespace ziggurat::kernels
