/// AdamW's update of one element.
#pragma once

#include <cmath>

#include "base/element.hpp"
#include "kernels/step_inputs.hpp"

namespace ziggurat::kernels {

/// What AdamW keeps from the deck for all parameters.
struct AdamW {
    double beta1 = 0.9;
    double beta2 = 0.999;
    double epsilon = 1e-8;
};

/// How a moment is carried on: the last one times `keep` plus what is new times `take`.
struct Decay {
    float keep;
    float take;

    /// Each factor is rounded for itself. 1 - float(beta) would have lost what beta2 = 0.999 says after its
    /// first digits: it is 1.3e-5 off, at 0.9999 it is 1.7e-4.
    ZG_ELEMENT explicit Decay(double beta) noexcept
        : keep{static_cast<float>(beta)}, take{static_cast<float>(1 - beta)} {}
};

/// Everything that is the same for all elements of an update.
struct AdamWFactors {
    Decay first;
    Decay second;
    float epsilon;
    float weight_decay;
    float learning_rate;
    float inverse_bias1;
    float inverse_sqrt_bias2;
    float gradient_scale;

    ZG_ELEMENT AdamWFactors(const AdamW& adamw,
                            float decay,
                            float lr_factor,
                            const StepInputs& inputs) noexcept
        : first{adamw.beta1},
          second{adamw.beta2},
          epsilon{static_cast<float>(adamw.epsilon)},
          weight_decay{decay},
          learning_rate{lr_factor * inputs.learning_rate},
          inverse_bias1{inputs.inverse_bias1},
          inverse_sqrt_bias2{inputs.inverse_sqrt_bias2},
          gradient_scale{inputs.gradient_scale} {}
};

/// The new weight; the moments become the new ones. adamw.hpp has the formula.
ZG_ELEMENT inline float updated(
    const AdamWFactors& f, float weight, float gradient, float& m, float& v) noexcept {
    const float g = gradient * f.gradient_scale;
    m = std::fma(f.first.keep, m, f.first.take * g);
    v = std::fma(f.second.keep, v, f.second.take * (g * g));
    const float step = (m * f.inverse_bias1) / std::fma(std::sqrt(v), f.inverse_sqrt_bias2, f.epsilon);
    return std::fma(-f.learning_rate, std::fma(f.weight_decay, weight, step), weight);
}

}  // namespace ziggurat::kernels
