/// The loss of each token and its gradient.
#pragma once

#include <cstdint>

#include "device/stream.hpp"
#include "kernels/element/cross_entropy_element.hpp"
#include "kernels/launch/step_inputs.hpp"
#include "kernels/launch/tensor_address.hpp"

namespace ziggurat::kernels {

/// Computes the loss of each row and overwrites logits with gradients.
///
/// losses[r] = log(sum(exp(z[r]))) - z[r][targets[r]] with z the transform of the logits. The gradient is
/// that of the scaled sum of losses: inputs->loss_scale * dz/dx * (softmax(z[r]) - onehot(targets[r])).
///
/// Shapes:  logits [rows, vocab_padded]; targets, losses [rows]; mask [rows] or empty. Columns from `vocab`
///          on are padding: excluded from the sum, gradient 0. Rows whose mask is 0 do not count: loss 0,
///          gradient 0, and their target is not read.
/// Numerics: in float, relative to the row's maximum; a non-finite logit gives a non-finite loss;
///          with a cap, only NaN does
/// Errors:  Error{internal} if shapes disagree, the factor is not positive or the cap is negative. The host
///          also rejects loss_scale < 0 and counted targets outside [0, vocab). A GPU cannot check values: it
///          does not read such a target, and its row's loss is NaN.
template <class T>
void cross_entropy(const device::Stream& stream,
                   TensorAddress<T, 2> logits,
                   std::int64_t vocab,
                   VectorAddress<const std::int32_t> targets,
                   VectorAddress<const std::uint8_t> mask,
                   ObjectAddress<const StepInputs> inputs,
                   VectorAddress<float> losses,
                   const LogitTransform& transform = {});

/// Computes the same losses, bit for bit, without gradients. Logits do not change.
template <class T>
void cross_entropy_loss_only(const device::Stream& stream,
                             TensorAddress<const T, 2> logits,
                             std::int64_t vocab,
                             VectorAddress<const std::int32_t> targets,
                             VectorAddress<const std::uint8_t> mask,
                             VectorAddress<float> losses,
                             const LogitTransform& transform = {});

/// Adds columns [first, first + width of logits) of each row to its statistics.
///
/// The first tile of a row uses Accumulate::no. Tiles must be added in ascending order, and the size of all
/// but the last must be a multiple of 1024 columns. Losses and gradients then have the same bits as
/// cross_entropy.
///
/// All calls for a row must have the same transform.
///
/// Shapes:  logits [rows, any]; targets, statistics [rows]; mask [rows] or empty
/// Errors:  as cross_entropy
template <class T>
void cross_entropy_tile(const device::Stream& stream,
                        TensorAddress<const T, 2> logits,
                        std::int64_t first,
                        std::int64_t vocab,
                        VectorAddress<const std::int32_t> targets,
                        VectorAddress<const std::uint8_t> mask,
                        Accumulate accumulate,
                        VectorAddress<LossStatistics> statistics,
                        const LogitTransform& transform = {});

/// Merges the statistics of slices of columns into the statistics of rows, in the order of the slices.
///
/// Shapes:  slices [slices, rows]; merged [rows]
void merge_statistics(const device::Stream& stream,
                      VectorAddress<const LossStatistics> slices,
                      VectorAddress<LossStatistics> merged);

/// Computes the losses. Call after all columns have been added.
void losses_of_statistics(const device::Stream& stream,
                          VectorAddress<const LossStatistics> statistics,
                          VectorAddress<const std::uint8_t> mask,
                          VectorAddress<float> losses);

/// Overwrites a tile's logits with their gradient.
///
/// Call after all columns have been added to the statistics.
///
/// \param weights  factor of each row's gradient, of any sign; empty: all are 1
/// Shapes:  weights [rows] or empty
template <class T>
void cross_entropy_tile_gradient(const device::Stream& stream,
                                 TensorAddress<T, 2> logits,
                                 std::int64_t first,
                                 std::int64_t vocab,
                                 VectorAddress<const std::int32_t> targets,
                                 VectorAddress<const std::uint8_t> mask,
                                 VectorAddress<const float> weights,
                                 VectorAddress<const LossStatistics> statistics,
                                 ObjectAddress<const StepInputs> inputs,
                                 const LogitTransform& transform = {});

}  // namespace ziggurat::kernels
