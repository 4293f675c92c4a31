/// Root-mean-square normalization, alone or after a residual addition.
#pragma once

#include <cstddef>

#include "device/stream.hpp"
#include "kernels/step_inputs.hpp"
#include "kernels/tensor_address.hpp"

namespace ziggurat::kernels {

/// y = gain * x / sqrt(mean(x^2) + epsilon) over the last dim; inv_rms is kept for backward.
///
/// Source: Zhang and Sennrich, "Root Mean Square Layer Normalization", 2019, eq. 4.
///
/// Shapes:  x, y [rows, width]; gain [width]; inv_rms [rows]
/// Numerics: the sum is float whatever T is
/// Aliasing: y may be x; nothing else may overlap
/// Errors:  Error{internal} when shapes disagree
template <class T>
void rms_norm_forward(const device::Stream& stream,
                      TensorAddress<const T, 2> x,
                      VectorAddress<const T> gain,
                      float epsilon,
                      TensorAddress<T, 2> y,
                      VectorAddress<float> inv_rms);

/// x_out = x + dropout(branch), y = rms_norm(x_out), in one sweep.
///
/// Shapes, numerics, errors: as rms_norm_forward; branch, x_out [rows, width]. The statistic is that of the
/// x_out that is stored, so that backward sees the same.
/// Aliasing: x_out may be x; nothing else may overlap
template <class T>
void residual_rms_norm_forward(const device::Stream& stream,
                               TensorAddress<const T, 2> x,
                               TensorAddress<const T, 2> branch,
                               const Dropout& dropout,
                               VectorAddress<const T> gain,
                               float epsilon,
                               TensorAddress<T, 2> x_out,
                               TensorAddress<T, 2> y,
                               VectorAddress<float> inv_rms);

/// Adds the gradient that comes through the norm to dx, and forms the gradient of gain.
///
/// dx holds the gradient of the residual branch (zeros where there is none) and becomes the total.
///
/// Shapes:  x, dy, dx [rows, width]; gain, d_gain [width]; inv_rms [rows]; workspace
///          of layout::Workspaces::column_sum
/// Numerics: d_gain is a float sum over fixed blocks of rows, the blocks added in order: the same bits for
/// any
///          number of threads
/// Errors:  Error{internal} when shapes disagree or the workspace is short
template <class T>
void rms_norm_backward(const device::Stream& stream,
                       TensorAddress<const T, 2> x,
                       TensorAddress<const T, 2> dy,
                       VectorAddress<const T> gain,
                       VectorAddress<const float> inv_rms,
                       TensorAddress<T, 2> dx,
                       VectorAddress<float> d_gain,
                       Accumulate accumulate,
                       VectorAddress<std::byte> workspace);

}  // namespace ziggurat::kernels
