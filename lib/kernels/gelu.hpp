/// The Gaussian error linear unit, in its exact form and in its tanh form.
#pragma once

#include "device/stream.hpp"
#include "kernels/launch/tensor_address.hpp"

namespace ziggurat::kernels {

/// Computes y = x/2 * (1 + tanh(sqrt(2/pi) * (x + 0.044715 x^3))).
///
/// Source: Hendrycks and Gimpel, "Gaussian Error Linear Units", 2016, section 2.
///
/// Shapes:  x, y [rows, width]
/// Numerics: in float; absolute error below 1e-6
/// Aliasing: y may be x
/// Errors:  Error{internal} if shapes disagree
template <class T>
void gelu_forward(const device::Stream& stream, TensorAddress<const T, 2> x, TensorAddress<T, 2> y);

/// Overwrites dy with dx = dy * gelu'(x).
///
/// Shapes:  x, dy [rows, width]
/// Numerics: in float; absolute error of gelu' below 4e-6
/// Errors:  Error{internal} if shapes disagree
template <class T>
void gelu_backward(const device::Stream& stream, TensorAddress<const T, 2> x, TensorAddress<T, 2> dy);

/// Computes y = x/2 * (1 + erf(x / sqrt(2))).
///
/// Source: Hendrycks and Gimpel, "Gaussian Error Linear Units", 2016, section 2.
///
/// Shapes:  x, y [rows, width]
/// Numerics: in float; absolute error below 1e-6 max(1, |x|)
/// Aliasing: y may be x
/// Errors:  Error{internal} if shapes disagree
template <class T>
void gelu_erf_forward(const device::Stream& stream, TensorAddress<const T, 2> x, TensorAddress<T, 2> y);

/// Overwrites dy with dx = dy times the derivative of gelu_erf_forward.
///
/// Shapes:  x, dy [rows, width]
/// Numerics: in float; absolute error of the derivative below 1e-6
/// Errors:  Error{internal} if shapes disagree
template <class T>
void gelu_erf_backward(const device::Stream& stream, TensorAddress<const T, 2> x, TensorAddress<T, 2> dy);

}  // namespace ziggurat::kernels
