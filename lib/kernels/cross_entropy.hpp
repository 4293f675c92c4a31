/// The loss of each token and its gradient.
#pragma once

#include <cstdint>

#include "device/stream.hpp"
#include "kernels/cross_entropy_element.hpp"
#include "kernels/step_inputs.hpp"
#include "kernels/tensor_address.hpp"

namespace ziggurat::kernels {

/// losses[r] = log(sum(exp(logits[r]))) - logits[r][targets[r]]; the logits become the gradient of the scaled
/// sum of losses: inputs->loss_scale * (softmax(logits[r]) - onehot(targets[r])).
///
/// Shapes:  logits [rows, vocab_padded]; targets, losses [rows]; mask [rows] or empty.
///          Columns from `vocab` on are padding: not part of the sum, gradient 0.
///          A row whose mask is 0 is not counted: loss 0, gradient 0, and its target is not read.
/// Numerics: in float, relative to the row's maximum; a non-finite logit gives a non-finite loss
/// Errors:  Error{internal} when shapes disagree; on the host, which alone can refuse values, also when a
///          target that counts is outside [0, vocab) or loss_scale < 0. On a GPU such a target is not read
///          and its row's loss is NaN.
template <class T>
void cross_entropy(const device::Stream& stream,
                   TensorAddress<T, 2> logits,
                   std::int64_t vocab,
                   VectorAddress<const std::int32_t> targets,
                   VectorAddress<const std::uint8_t> mask,
                   ObjectAddress<const StepInputs> inputs,
                   VectorAddress<float> losses);

/// The same losses, bit for bit, without a gradient: logits stay as they are.
template <class T>
void cross_entropy_loss_only(const device::Stream& stream,
                             TensorAddress<const T, 2> logits,
                             std::int64_t vocab,
                             VectorAddress<const std::int32_t> targets,
                             VectorAddress<const std::uint8_t> mask,
                             VectorAddress<float> losses);

/// Adds columns [first, first + width of logits) of each row to its statistics, which begin with
/// Accumulate::no. Tiles come in ascending order, and all but the last are multiples of 1024 columns: then
/// losses and gradients have the bits of cross_entropy.
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
                        VectorAddress<LossStatistics> statistics);

/// The statistics of rows from those of slices of their columns, merged in the order of the slices.
///
/// Shapes:  slices [slices, rows]; merged [rows]
void merge_statistics(const device::Stream& stream,
                      VectorAddress<const LossStatistics> slices,
                      VectorAddress<LossStatistics> merged);

/// The losses, when all columns have been added.
void losses_of_statistics(const device::Stream& stream,
                          VectorAddress<const LossStatistics> statistics,
                          VectorAddress<const std::uint8_t> mask,
                          VectorAddress<float> losses);

/// Turns a tile's logits into their gradient, when all columns have been added to the statistics.
template <class T>
void cross_entropy_tile_gradient(const device::Stream& stream,
                                 TensorAddress<T, 2> logits,
                                 std::int64_t first,
                                 std::int64_t vocab,
                                 VectorAddress<const std::int32_t> targets,
                                 VectorAddress<const std::uint8_t> mask,
                                 VectorAddress<const LossStatistics> statistics,
                                 ObjectAddress<const StepInputs> inputs);

}  // namespace ziggurat::kernels
