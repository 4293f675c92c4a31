/// Gated linear units: the activations of Llama's and Gemma's feed-forward phases.
#pragma once

#include "device/stream.hpp"
#include "kernels/launch/tensor_address.hpp"

namespace ziggurat::kernels {

/// Computes y = silu(gate) * up with silu(z) = z / (1 + exp(-z)).
///
/// A row of x is its gates, then its ups.
///
/// Source: Shazeer, "GLU Variants Improve Transformer", 2020, eq. 5.
///
/// Shapes:  x [rows, 2 * width]; y [rows, width]
/// Numerics: in float
/// Aliasing: none
/// Errors:  Error{internal} if shapes disagree
template <class T>
void swiglu_forward(const device::Stream& stream, TensorAddress<const T, 2> x, TensorAddress<T, 2> y);

/// Computes dx from dy in one pass, and y of swiglu_forward again, unless `y` is empty.
///
/// Shapes:  x, dx [rows, 2 * width]; y [rows, width] or empty; dy [rows, width], or without y dx itself,
///          whose gates are then dy
/// Numerics: in float; y has the bits of forward
/// Aliasing: dx may be x, and y may be dy; nothing else may overlap
/// Errors:  Error{internal} if shapes disagree
template <class T>
void swiglu_backward(const device::Stream& stream,
                     TensorAddress<const T, 2> x,
                     TensorAddress<const T, 2> dy,
                     TensorAddress<T, 2> dx,
                     TensorAddress<T, 2> y = {});

/// Computes y = gelu(gate) * up, with GELU in its tanh form (see gelu_forward).
///
/// Source: Shazeer, "GLU Variants Improve Transformer", 2020, eq. 5 (GEGLU).
///
/// Shapes, numerics, aliasing, errors: as swiglu_forward
template <class T>
void geglu_forward(const device::Stream& stream, TensorAddress<const T, 2> x, TensorAddress<T, 2> y);

/// Computes dx from dy in one pass, and y again unless it is empty.
///
/// Shapes, aliasing, errors: as swiglu_backward
template <class T>
void geglu_backward(const device::Stream& stream,
                    TensorAddress<const T, 2> x,
                    TensorAddress<const T, 2> dy,
                    TensorAddress<T, 2> dx,
                    TensorAddress<T, 2> y = {});

}  // namespace ziggurat::kernels
