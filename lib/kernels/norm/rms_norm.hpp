/// Root-mean-square normalization, alone or after a residual addition.
#pragma once

#include <cstddef>

#include "device/stream.hpp"
#include "kernels/launch/step_inputs.hpp"
#include "kernels/launch/tensor_address.hpp"

namespace ziggurat::kernels {

/// Computes y = (gain_offset + gain) * x / sqrt(mean(x^2) + epsilon) over the last dim.
///
/// Saves inv_rms for backward. With gain_offset 1, a gain of 0 changes nothing, and weight decay pulls it
/// there.
///
/// Source: Zhang and Sennrich, "Root Mean Square Layer Normalization", 2019, eq. 4.
///
/// Shapes:  x, y [rows, width]; gain [width]; inv_rms [rows]
/// Numerics: the sum is float for any T
/// Aliasing: y may be x; nothing else may overlap
/// Errors:  Error{internal} if shapes disagree
template <class T>
void rms_norm_forward(const device::Stream& stream,
                      TensorAddress<const T, 2> x,
                      VectorAddress<const T> gain,
                      float gain_offset,
                      float epsilon,
                      TensorAddress<T, 2> y,
                      VectorAddress<float> inv_rms);

/// Computes x_out = x + dropout(branch) and y = rms_norm(x_out) in one pass.
///
/// The sum is that of residual_forward, with the constant factor of `dropout`.
///
/// Shapes, numerics, errors: as rms_norm_forward; branch, x_out [rows, width]. The statistic is that of the
/// rounded x_out, which backward reads.
/// Aliasing: x_out may be x; nothing else may overlap
template <class T>
void residual_rms_norm_forward(const device::Stream& stream,
                               TensorAddress<const T, 2> x,
                               TensorAddress<const T, 2> branch,
                               const Dropout& dropout,
                               VectorAddress<const T> gain,
                               float gain_offset,
                               float epsilon,
                               TensorAddress<T, 2> x_out,
                               TensorAddress<T, 2> y,
                               VectorAddress<float> inv_rms);

/// Adds the gradient through the norm to dx, or writes it there, and computes the gradient of gain.
///
/// With `add_to_dx`, dx holds the gradient from the other readers of x on entry. `accumulate` is that of
/// d_gain.
///
/// Shapes:  x, dy, dx [rows, width]; gain, d_gain [width]; inv_rms [rows]; workspace of
///          layout::Workspaces::column_sum
/// Numerics: d_gain is a float sum over fixed blocks of rows, then the blocks in order. The bits do not
///          depend on the number of threads.
/// Errors:  Error{internal} if shapes disagree or the workspace is too small
template <class T>
void rms_norm_backward(const device::Stream& stream,
                       TensorAddress<const T, 2> x,
                       TensorAddress<const T, 2> dy,
                       VectorAddress<const T> gain,
                       float gain_offset,
                       VectorAddress<const float> inv_rms,
                       TensorAddress<T, 2> dx,
                       Accumulate add_to_dx,
                       VectorAddress<float> d_gain,
                       Accumulate accumulate,
                       VectorAddress<std::byte> workspace);

}  // namespace ziggurat::kernels
