/// Residual additions without a norm, and the gradient of their branch.
#pragma once

#include "device/stream.hpp"
#include "kernels/launch/step_inputs.hpp"
#include "kernels/launch/tensor_address.hpp"

namespace ziggurat::kernels {

/// Computes y = x + dropout(branch), where dropout includes its constant factor.
///
/// Shapes:  x, branch, y [rows, width]
/// Aliasing: y may be x or branch
/// Errors:  Error{internal} if shapes disagree
template <class T>
void residual_forward(const device::Stream& stream,
                      TensorAddress<const T, 2> x,
                      TensorAddress<const T, 2> branch,
                      const Dropout& dropout,
                      TensorAddress<T, 2> y);

/// Computes dx = dy with the mask, scale and factor of forward; a copy without any of them.
///
/// Shapes:  dy, dx [rows, width]
/// Aliasing: dx may be dy
/// Errors:  Error{internal} if shapes disagree
template <class T>
void dropout_backward(const device::Stream& stream,
                      TensorAddress<const T, 2> dy,
                      const Dropout& dropout,
                      TensorAddress<T, 2> dx);

}  // namespace ziggurat::kernels
