/// The loss of each token and its gradient.
#pragma once

#include <cstdint>
#include <span>

#include "device/stream.hpp"
#include "kernels/cross_entropy_element.hpp"
#include "kernels/step_inputs.hpp"
#include "tensor/tensor_ref.hpp"

namespace ziggurat::kernels {

/// losses[r] = log(sum(exp(logits[r]))) - logits[r][targets[r]]; the logits become the gradient of the scaled
/// sum of losses: inputs->loss_scale * (softmax(logits[r]) - onehot(targets[r])).
///
/// Shapes:  logits [rows, vocab_padded]; targets, losses [rows]; mask [rows] or empty.
///          Columns from `vocab` on are padding: not part of the sum, gradient 0.
///          A row whose mask is 0 is not counted: loss 0, gradient 0, and its target is not read.
/// Numerics: in float, relative to the row's maximum; a non-finite logit gives a non-finite loss
/// Errors:  Error{internal} when shapes disagree, a target that counts is outside [0, vocab), or
///          loss_scale < 0
template <class T>
void cross_entropy(const device::Stream& stream,
                   tensor::TensorRef<T, 2> logits,
                   std::int64_t vocab,
                   tensor::TensorRef<const std::int32_t, 1> targets,
                   tensor::TensorRef<const std::uint8_t, 1> mask,
                   const StepInputs* inputs,
                   tensor::TensorRef<float, 1> losses);

/// The same losses, bit for bit, without a gradient: logits stay as they are.
template <class T>
void cross_entropy_loss_only(const device::Stream& stream,
                             tensor::TensorRef<const T, 2> logits,
                             std::int64_t vocab,
                             tensor::TensorRef<const std::int32_t, 1> targets,
                             tensor::TensorRef<const std::uint8_t, 1> mask,
                             tensor::TensorRef<float, 1> losses);

/// Adds columns [first, first + width of logits) of each row to its statistics; with `first` 0 they begin.
/// Tiles come in ascending order, and all but the last are multiples of 1024 columns: then losses and
/// gradients have the bits of cross_entropy.
///
/// Shapes:  logits [rows, any]; targets, statistics [rows]; mask [rows] or empty
/// Errors:  as cross_entropy
template <class T>
void cross_entropy_tile(const device::Stream& stream,
                        tensor::TensorRef<const T, 2> logits,
                        std::int64_t first,
                        std::int64_t vocab,
                        tensor::TensorRef<const std::int32_t, 1> targets,
                        tensor::TensorRef<const std::uint8_t, 1> mask,
                        std::span<LossStatistics> statistics);

/// The losses, when all columns have been added.
void losses_of_statistics(const device::Stream& stream,
                          std::span<const LossStatistics> statistics,
                          tensor::TensorRef<const std::uint8_t, 1> mask,
                          tensor::TensorRef<float, 1> losses);

/// Turns a tile's logits into their gradient, when all columns have been added to the statistics.
template <class T>
void cross_entropy_tile_gradient(const device::Stream& stream,
                                 tensor::TensorRef<T, 2> logits,
                                 std::int64_t first,
                                 std::int64_t vocab,
                                 tensor::TensorRef<const std::int32_t, 1> targets,
                                 tensor::TensorRef<const std::uint8_t, 1> mask,
                                 std::span<const LossStatistics> statistics,
                                 const StepInputs* inputs);

}  // namespace ziggurat::kernels
