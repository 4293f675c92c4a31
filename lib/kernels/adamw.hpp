/// One update of Adam with decoupled weight decay, and of the average of the weights.
#pragma once

#include "base/exact_sum.hpp"
#include "device/stream.hpp"
#include "kernels/element/adamw_element.hpp"
#include "kernels/launch/step_inputs.hpp"
#include "kernels/launch/tensor_address.hpp"

namespace ziggurat::kernels {

/// Updates master weights and moments.
///
/// With g = gradient_scale * gradient and lr = lr_factor * learning_rate:
///
///     m = beta1 m + (1 - beta1) g;  v = beta2 v + (1 - beta2) g^2
///     master -= lr * (m * inverse_bias1 / (sqrt(v) * inverse_sqrt_bias2 + epsilon) + weight_decay * master)
///
/// Writes the rounded master weights to `parameters`. If inputs->skip is set, only `parameters` is written,
/// from the unchanged master weights.
///
/// Source: Loshchilov and Hutter, "Decoupled Weight Decay Regularization", ICLR 2019, algorithm 2.
///
/// Shapes:  all vectors of one length; `parameters` may be empty (then the master weights are the parameters)
/// Numerics: element by element with explicit fused operations and the factors of Decay. The bits do not
///          depend on how the elements are divided into vectors, nor on the device. Gradients that were
///          accumulated in bfloat16 give the same bits as their float values.
/// Errors:  Error{internal} if lengths disagree
template <class T, class G>
void adamw_update(const device::Stream& stream,
                  const AdamW& adamw,
                  float weight_decay,
                  float lr_factor,
                  ObjectAddress<const StepInputs> inputs,
                  VectorAddress<float> master,
                  VectorAddress<const G> gradient,
                  VectorAddress<float> m,
                  VectorAddress<float> v,
                  VectorAddress<T> parameters);

/// Does the same as adamw_update(), and sums squares of weights and of their changes if asked to.
///
/// If inputs->sums_norms is set, the squares of the new master weights are added to `weights`, and those of
/// their changes, new minus old, to `changes`. Otherwise, only the update is computed.
///
/// Numerics: the update has the bits of adamw_update(). A change is rounded to fp32; squares are summed as in
///           sum_of_squares()
template <class T, class G>
void adamw_update_with_norms(const device::Stream& stream,
                             const AdamW& adamw,
                             float weight_decay,
                             float lr_factor,
                             ObjectAddress<const StepInputs> inputs,
                             VectorAddress<float> master,
                             VectorAddress<const G> gradient,
                             VectorAddress<float> m,
                             VectorAddress<float> v,
                             VectorAddress<T> parameters,
                             ObjectAddress<ExactSum> weights,
                             ObjectAddress<ExactSum> changes);

/// Computes average = inputs->average_keep * average + inputs->average_take * weights.
///
/// Computes nothing if inputs->skip is set. If average_keep is 0 and average_take 1, the average becomes a
/// copy of the weights.
///
/// Shapes:  both vectors of one length
/// Numerics: as adamw_update()
/// Errors:  Error{internal} if lengths disagree
void average_weights(const device::Stream& stream,
                     ObjectAddress<const StepInputs> inputs,
                     VectorAddress<const float> weights,
                     VectorAddress<float> average);

}  // namespace ziggurat::kernels
