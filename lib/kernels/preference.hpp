/// Preference objectives: losses of pairs of answers, and factors of the gradients of tokens.
#pragma once

#include <cstdint>

#include "device/stream.hpp"
#include "kernels/element/preference_element.hpp"
#include "kernels/launch/tensor_address.hpp"
#include "layout/context/context_rows.hpp"

namespace ziggurat::kernels {

/// Computes the loss and the rewards of each pair of answers, and the factor of each token's gradient.
///
/// The gradient of the mean loss of pairs is that of the sum of losses[r] * weights[r], divided by the number
/// of pairs, with constant weights.
///
/// Shapes:   losses [ranks, rows], gathered from all context ranks, 0 for tokens that do not count; weights
///           [rows] of this rank; pairs, references, results [pairs]. Elements of `pairs` with a negative first
///           row are unused: their results are 0. Rows of no pair have the weight 0
/// Numerics: sums of an answer in double: 32 lanes with a stride of 32 from its first row, folded in halves
void preference_weights(const device::Stream& stream,
                        VectorAddress<const float> losses,
                        const layout::GatheredRows& rows,
                        VectorAddress<const AnswerRows> pairs,
                        VectorAddress<const AnswerSums> references,
                        const PreferenceLoss& rule,
                        VectorAddress<float> weights,
                        VectorAddress<PairResult> results);

}  // namespace ziggurat::kernels
