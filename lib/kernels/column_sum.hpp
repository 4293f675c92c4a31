/// Gradients of biases.
#pragma once

#include <cstddef>

#include "device/stream.hpp"
#include "kernels/launch/step_inputs.hpp"
#include "kernels/launch/tensor_address.hpp"

namespace ziggurat::kernels {

/// Computes out[c] = (or +=) the sum of dy over its rows.
///
/// Shapes:  dy [rows, width]; out [width]; workspace of layout::Workspaces::column_sum
/// Numerics: float sums over fixed blocks of rows, then the blocks in order. The bits do not depend on the
///          number of threads.
/// Errors:  Error{internal} if shapes disagree or the workspace is too small
template <class T>
void column_sum(const device::Stream& stream,
                TensorAddress<const T, 2> dy,
                VectorAddress<float> out,
                Accumulate accumulate,
                VectorAddress<std::byte> workspace);

}  // namespace ziggurat::kernels
