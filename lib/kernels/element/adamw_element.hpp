/// AdamW's update of one element.
#pragma once

#include <cmath>

#include "base/element.hpp"
#include "kernels/launch/step_inputs.hpp"

namespace ziggurat::kernels {

/// AdamW hyperparameters that all parameters share.
struct AdamW {
    double beta1 = 0.9;
    double beta2 = 0.999;
    double epsilon = 1e-8;
};

/// Factors of a moment's update: the old value times `keep` plus the new value times `take`.
struct Decay {
    float keep;
    float take;

    /// Rounds each factor separately.
    ///
    /// 1 - float(beta) would lose digits: for beta2 = 0.999 it is off by 1.3e-5, for 0.9999 by 1.7e-4.
    ZG_ELEMENT explicit Decay(double beta) noexcept
        : keep{static_cast<float>(beta)}, take{static_cast<float>(1 - beta)} {}
};

/// Factors that are the same for all elements of an update.
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

/// Returns the new weight and overwrites the moments. adamw.hpp has the formula.
ZG_ELEMENT inline float updated(
    const AdamWFactors& f, float weight, float gradient, float& m, float& v) noexcept {
    const float g = gradient * f.gradient_scale;
    m = std::fma(f.first.keep, m, f.first.take * g);
    v = std::fma(f.second.keep, v, f.second.take * (g * g));
    const float step = (m * f.inverse_bias1) / std::fma(std::sqrt(v), f.inverse_sqrt_bias2, f.epsilon);
    return std::fma(-f.learning_rate, std::fma(f.weight_decay, weight, step), weight);
}

/// Returns the new average of a weight.
ZG_ELEMENT inline float averaged(const StepInputs& inputs, float average, float weight) noexcept {
    return std::fma(inputs.average_keep, average, inputs.average_take * weight);
}

}  // namespace ziggurat::kernels
