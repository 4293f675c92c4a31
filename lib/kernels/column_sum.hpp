/// Gradients of biases.
#pragma once

#include <cstddef>
#include <span>

#include "device/stream.hpp"
#include "kernels/step_inputs.hpp"
#include "tensor/tensor_ref.hpp"

namespace ziggurat::kernels {

/// out[c] = (or +=) the sum of dy over its rows.
///
/// Shapes:  dy [rows, width]; out [width]; workspace of layout::Workspaces::column_sum
/// Numerics: float sums over fixed blocks of rows, the blocks added in order: the same bits for any number of
///          threads
/// Errors:  Error{internal} when shapes disagree or the workspace is short
template <class T>
void column_sum(const device::Stream& stream,
                tensor::TensorRef<const T, 2> dy,
                tensor::TensorRef<float, 1> out,
                Accumulate accumulate,
                std::span<std::byte> workspace);

}  // namespace ziggurat::kernels
