/// Layer normalization, alone or after a residual addition.
#pragma once

#include <cstddef>

#include "device/stream.hpp"
#include "kernels/launch/step_inputs.hpp"
#include "kernels/launch/tensor_address.hpp"

namespace ziggurat::kernels {

/// Computes y = gain * (x - mean) / sqrt(variance + epsilon) + bias over the last dim.
///
/// Saves mean and inv_std for backward.
///
/// Source: Ba, Kiros and Hinton, "Layer Normalization", 2016, eq. 4.
///
/// Shapes:  x, y [rows, width]; gain, bias [width]; mean, inv_std [rows]
/// Numerics: statistics in float for any T, the variance from the differences to the mean
/// Aliasing: y may be x; nothing else may overlap
/// Errors:  Error{internal} if shapes disagree
template <class T>
void layer_norm_forward(const device::Stream& stream,
                        TensorAddress<const T, 2> x,
                        VectorAddress<const T> gain,
                        VectorAddress<const T> bias,
                        float epsilon,
                        TensorAddress<T, 2> y,
                        VectorAddress<float> mean,
                        VectorAddress<float> inv_std);

/// Computes x_out = x + dropout(branch) and y = layer_norm(x_out) in one pass.
///
/// The sum is that of residual_forward, with the constant factor of `dropout`.
///
/// Shapes, numerics, errors: as layer_norm_forward; branch, x_out [rows, width]. Statistics are those of the
/// rounded x_out, which backward reads.
/// Aliasing: x_out may be x; nothing else may overlap
template <class T>
void residual_layer_norm_forward(const device::Stream& stream,
                                 TensorAddress<const T, 2> x,
                                 TensorAddress<const T, 2> branch,
                                 const Dropout& dropout,
                                 VectorAddress<const T> gain,
                                 VectorAddress<const T> bias,
                                 float epsilon,
                                 TensorAddress<T, 2> x_out,
                                 TensorAddress<T, 2> y,
                                 VectorAddress<float> mean,
                                 VectorAddress<float> inv_std);

/// Adds the gradient through the norm to dx, or writes it there, and computes those of gain and bias.
///
/// With `add_to_dx`, dx holds the gradient from the other readers of x on entry. `accumulate` is that of
/// d_gain and d_bias.
///
/// Shapes:  x, dy, dx [rows, width]; gain, d_gain, d_bias [width], the last two empty if they are frozen;
///          mean, inv_std [rows]; workspace of layout::Workspaces::column_sum
/// Numerics: d_gain and d_bias are float sums over fixed blocks of rows, then the blocks in order. The bits
///          do not depend on the number of threads.
/// Errors:  Error{internal} if shapes disagree or the workspace is too small
template <class T>
void layer_norm_backward(const device::Stream& stream,
                         TensorAddress<const T, 2> x,
                         TensorAddress<const T, 2> dy,
                         VectorAddress<const T> gain,
                         VectorAddress<const float> mean,
                         VectorAddress<const float> inv_std,
                         TensorAddress<T, 2> dx,
                         Accumulate add_to_dx,
                         VectorAddress<float> d_gain,
                         VectorAddress<float> d_bias,
                         Accumulate accumulate,
                         VectorAddress<std::byte> workspace);

}  // namespace ziggurat::kernels
