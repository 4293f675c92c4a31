/// Layer normalization, alone or after a residual addition.
#pragma once

#include <cstddef>
#include <span>

#include "device/stream.hpp"
#include "kernels/step_inputs.hpp"
#include "tensor/tensor_ref.hpp"

namespace ziggurat::kernels {

/// y = gain * (x - mean) / sqrt(variance + epsilon) + bias over the last dim; mean and inv_std are kept for
/// backward.
///
/// Source: Ba, Kiros and Hinton, "Layer Normalization", 2016, eq. 4.
///
/// Shapes:  x, y [rows, width]; gain, bias [width]; mean, inv_std [rows]
/// Numerics: statistics in float whatever T is, the variance from the differences to the mean
/// Aliasing: y may be x; nothing else may overlap
/// Errors:  Error{internal} when shapes disagree
template <class T>
void layer_norm_forward(const device::Stream& stream,
                        tensor::TensorRef<const T, 2> x,
                        tensor::TensorRef<const T, 1> gain,
                        tensor::TensorRef<const T, 1> bias,
                        float epsilon,
                        tensor::TensorRef<T, 2> y,
                        tensor::TensorRef<float, 1> mean,
                        tensor::TensorRef<float, 1> inv_std);

/// x_out = x + dropout(branch), y = layer_norm(x_out), in one sweep.
///
/// Shapes, numerics, errors: as layer_norm_forward; branch, x_out [rows, width]. Statistics are those of the
/// x_out that is stored, so that backward sees the same.
/// Aliasing: x_out may be x; nothing else may overlap
template <class T>
void residual_layer_norm_forward(const device::Stream& stream,
                                 tensor::TensorRef<const T, 2> x,
                                 tensor::TensorRef<const T, 2> branch,
                                 const Dropout& dropout,
                                 tensor::TensorRef<const T, 1> gain,
                                 tensor::TensorRef<const T, 1> bias,
                                 float epsilon,
                                 tensor::TensorRef<T, 2> x_out,
                                 tensor::TensorRef<T, 2> y,
                                 tensor::TensorRef<float, 1> mean,
                                 tensor::TensorRef<float, 1> inv_std);

/// Adds the gradient that comes through the norm to dx, and forms the gradients of gain and bias.
///
/// dx holds the gradient of the residual branch (zeros where there is none) and becomes the total.
///
/// Shapes:  x, dy, dx [rows, width]; gain, d_gain, d_bias [width], the last two empty where they are frozen;
///          mean, inv_std [rows]; workspace of layout::Workspaces::column_sum
/// Numerics: d_gain and d_bias are float sums over fixed blocks of rows, the blocks added in order: the same
///          bits for any number of threads
/// Errors:  Error{internal} when shapes disagree or the workspace is short
template <class T>
void layer_norm_backward(const device::Stream& stream,
                         tensor::TensorRef<const T, 2> x,
                         tensor::TensorRef<const T, 2> dy,
                         tensor::TensorRef<const T, 1> gain,
                         tensor::TensorRef<const float, 1> mean,
                         tensor::TensorRef<const float, 1> inv_std,
                         tensor::TensorRef<T, 2> dx,
                         tensor::TensorRef<float, 1> d_gain,
                         tensor::TensorRef<float, 1> d_bias,
                         Accumulate accumulate,
                         std::span<std::byte> workspace);

}  // namespace ziggurat::kernels
