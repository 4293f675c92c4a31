/// One update of Adam with decoupled weight decay.
#pragma once

#include <span>

#include "device/stream.hpp"
#include "kernels/adamw_element.hpp"
#include "kernels/step_inputs.hpp"
#include "tensor/bfloat16.hpp"

namespace ziggurat::kernels {

/// With g = gradient_scale * gradient and lr = lr_factor * learning_rate:
///
///     m = beta1 m + (1 - beta1) g;  v = beta2 v + (1 - beta2) g^2
///     master -= lr * (m * inverse_bias1 / (sqrt(v) * inverse_sqrt_bias2 + epsilon) + weight_decay * master)
///
/// and `parameters` takes the rounded master. With inputs->skip it takes that of the master as it is, and
/// nothing else changes.
///
/// Source: Loshchilov and Hutter, "Decoupled Weight Decay Regularization", ICLR 2019, algorithm 2.
///
/// Shapes:  all spans of one length; `parameters` may be empty (the compute type's copy is the master itself)
/// Numerics: element by element with fused operations spelled out and the factors of Decay: the same bits
///          however the elements are cut into spans, and on any device
/// Errors:  Error{internal} when lengths disagree
template <class T>
void adamw_update(const device::Stream& stream,
                  const AdamW& adamw,
                  float weight_decay,
                  float lr_factor,
                  const StepInputs* inputs,
                  std::span<float> master,
                  std::span<const float> gradient,
                  std::span<float> m,
                  std::span<float> v,
                  std::span<T> parameters);
/// The same with gradients that were accumulated in bfloat16: the bits of an update with their floats.
template <class T>
void adamw_update(const device::Stream& stream,
                  const AdamW& adamw,
                  float weight_decay,
                  float lr_factor,
                  const StepInputs* inputs,
                  std::span<float> master,
                  std::span<const tensor::bfloat16> gradient,
                  std::span<float> m,
                  std::span<float> v,
                  std::span<T> parameters);

}  // namespace ziggurat::kernels
