/// Normalization of all query heads of a token together, and of all its key heads (QK-norm of OLMo 2).
#pragma once

#include <cstddef>
#include <cstdint>

#include "device/stream.hpp"
#include "kernels/launch/step_inputs.hpp"
#include "kernels/launch/tensor_address.hpp"
#include "kernels/norm/head_norm.hpp"

namespace ziggurat::kernels {

/// Computes the sums of the squares of each token's queries and of its keys.
///
/// Ranks of the tensor axis add their sums before the kernels below read them.
///
/// Shapes:   x [rows, (heads + 2 kv_heads) head_dim]; sums [rows, 2], first those of queries
/// Numerics: float for any T
/// Async:    on `stream`
/// Errors:   Error{internal} if shapes disagree
template <class T>
void square_sums(const device::Stream& stream,
                 const QkvHeads& shape,
                 TensorAddress<const T, 2> x,
                 TensorAddress<float, 2> sums);

/// Adds the gradient through the sums to dx: 2 x d_sums for queries and keys.
///
/// Shapes: as above; d_sums as sums, dx as x
/// Errors: as above
template <class T>
void square_sums_backward(const device::Stream& stream,
                          const QkvHeads& shape,
                          TensorAddress<const T, 2> x,
                          TensorAddress<const float, 2> d_sums,
                          TensorAddress<T, 2> dx);

/// Computes y = gain * x / sqrt(mean(x^2) + epsilon) for queries and for keys; copies values.
///
/// The mean is over the heads of all `ranks` of the tensor axis. A key head that several ranks have counts
/// once for each of them, in the sum and in the number of elements.
///
/// Source: Team OLMo, "2 OLMo 2 Furious", 2025, section 3.1
///
/// Shapes:   x, y [rows, (heads + 2 kv_heads) head_dim]; sums [rows, 2], over all ranks;
///           gain [(heads + kv_heads) head_dim], first that of queries
/// Numerics: as rms_norm_forward
/// Errors:   as above
template <class T>
void whole_norm_forward(const device::Stream& stream,
                        const QkvHeads& shape,
                        int ranks,
                        TensorAddress<const T, 2> x,
                        TensorAddress<const float, 2> sums,
                        VectorAddress<const T> gain,
                        float epsilon,
                        TensorAddress<T, 2> y);

/// Replaces the gradient of y by that of x for constant sums.
///
/// Computes the gradients of the sums and of gain.
///
/// Shapes:   as above; dx as x; d_sums as sums, or empty; d_gain as gain, or empty;
///           workspace of layout::Workspaces::column_sum((heads + kv_heads) head_dim)
/// Numerics: as rms_norm_backward, but dx is rounded once more when square_sums_backward adds to it. d_sums
///           is this rank's summand of the gradient.
/// Errors:   as above, and if the workspace is too small
template <class T>
void whole_norm_backward(const device::Stream& stream,
                         const QkvHeads& shape,
                         int ranks,
                         TensorAddress<const T, 2> x,
                         TensorAddress<const float, 2> sums,
                         VectorAddress<const T> gain,
                         float epsilon,
                         TensorAddress<T, 2> dx,
                         TensorAddress<float, 2> d_sums,
                         VectorAddress<float> d_gain,
                         Accumulate accumulate,
                         VectorAddress<std::byte> workspace);

}  // namespace ziggurat::kernels
