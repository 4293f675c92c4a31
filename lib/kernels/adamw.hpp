/// One update of Adam with decoupled weight decay.
#pragma once

#include "device/stream.hpp"
#include "kernels/adamw_element.hpp"
#include "kernels/step_inputs.hpp"
#include "kernels/tensor_address.hpp"

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
/// Shapes:  all vectors of one length; `parameters` may be empty (the compute type's copy is the master
///          itself)
/// Numerics: element by element with fused operations spelled out and the factors of Decay: the same bits
///          however the elements are cut into vectors, and on any device. Gradients that were accumulated in
///          bfloat16 give the bits of their floats.
/// Errors:  Error{internal} when lengths disagree
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

}  // namespace ziggurat::kernels
