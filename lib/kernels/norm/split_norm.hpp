/// Norms of rows of which each rank of a tensor group has a part.
#pragma once

#include <cstddef>
#include <cstdint>

#include "device/stream.hpp"
#include "kernels/launch/step_inputs.hpp"
#include "kernels/launch/tensor_address.hpp"

namespace ziggurat::kernels {

/// Norm of whole rows.
struct SplitNorm {
    std::int64_t width = 0;  ///< elements of a row on all ranks together
    float gain_offset = 0;   ///< added to each gain
    float epsilon = 0;
};

/// Computes the sums of this rank's part of each row, which the ranks then add up.
///
/// Shapes:   x [rows, part]; sums [rows, 1]: of the squares (RMSNorm), or [rows, 2]: of the elements, then of
///           the squares (LayerNorm)
/// Numerics: float for any T
/// Async:    on `stream`
/// Errors:   Error{internal} if shapes disagree
template <class T>
void row_sums(const device::Stream& stream, TensorAddress<const T, 2> x, TensorAddress<float, 2> sums);

/// Adds the gradient through the sums to dx.
///
/// Shapes: as above; d_sums as sums, dx as x
/// Errors: as above
template <class T>
void row_sums_backward(const device::Stream& stream,
                       TensorAddress<const T, 2> x,
                       TensorAddress<const float, 2> d_sums,
                       TensorAddress<T, 2> dx);

/// Computes y = (x - mean) / sqrt(variance + epsilon) * gain + bias from the sums over all ranks.
///
/// With one sum, the mean is 0 and the variance the mean square.
///
/// Shapes:   as above; sums over all ranks; y as x; gain [part]; bias [part], or empty with one sum
/// Numerics: float for any T. The variance is the difference of the mean square and the square of the mean.
/// Errors:   as above
template <class T>
void split_norm_forward(const device::Stream& stream,
                        const SplitNorm& norm,
                        TensorAddress<const T, 2> x,
                        TensorAddress<const float, 2> sums,
                        VectorAddress<const T> gain,
                        VectorAddress<const T> bias,
                        TensorAddress<T, 2> y);

/// Computes the gradients of x for constant sums, of the sums, of gain and of bias.
///
/// The gradient of x is stored or added to dx. That of the sums is this rank's summand.
///
/// Shapes:   as above; dy, dx as x; d_sums as sums, or empty; d_gain, d_bias as gain, or empty; workspace of
///           layout::Workspaces::column_sum(part)
/// Numerics: as layer_norm_backward, but dx is rounded once more when row_sums_backward adds to it
/// Errors:   as above, and if the workspace is too small
template <class T>
void split_norm_backward(const device::Stream& stream,
                         const SplitNorm& norm,
                         TensorAddress<const T, 2> x,
                         TensorAddress<const T, 2> dy,
                         TensorAddress<const float, 2> sums,
                         VectorAddress<const T> gain,
                         TensorAddress<T, 2> dx,
                         Accumulate add_to_dx,
                         TensorAddress<float, 2> d_sums,
                         VectorAddress<float> d_gain,
                         VectorAddress<float> d_bias,
                         Accumulate accumulate,
                         VectorAddress<std::byte> workspace);

}  // namespace ziggurat::kernels
