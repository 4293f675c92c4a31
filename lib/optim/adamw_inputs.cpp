#include "optim/adamw_inputs.hpp"

#include <cmath>

#include "base/contract.hpp"
#include "kernels/adamw.hpp"

namespace ziggurat::optim {
namespace {

/// Returns the sum of the weights that a moment has given to all gradients so far.
///
/// This is take (1 - keep^t) / (1 - keep), which equals 1 - beta^t except for the rounding of the kernel's
/// factors. Uses expm1, because the plain difference loses digits if beta is close to 1.
double bias_correction(double beta, std::int64_t update) {
    const kernels::Decay decay{beta};
    const auto keep = static_cast<double>(decay.keep);
    const auto take = static_cast<double>(decay.take);
    return keep > 0 ? take * -std::expm1(static_cast<double>(update) * std::log(keep)) / (1 - keep) : take;
}

}  // namespace

kernels::StepInputs make_step_inputs(const spec::Optimizer& optimizer,
                                     const spec::Average& average,
                                     double rate,
                                     std::int64_t step,
                                     std::int64_t update,
                                     std::int64_t num_targets) {
    ZG_EXPECTS(update >= 1 && num_targets >= 0);
    kernels::StepInputs inputs;
    inputs.step = step;
    inputs.learning_rate = static_cast<float>(rate);
    inputs.inverse_bias1 = static_cast<float>(1 / bias_correction(optimizer.beta1, update));
    inputs.inverse_sqrt_bias2 = static_cast<float>(1 / std::sqrt(bias_correction(optimizer.beta2, update)));
    inputs.loss_scale = num_targets > 0 ? static_cast<float>(1 / static_cast<double>(num_targets)) : 0.0f;
    if (average.is_on() && update > average.from) {
        const kernels::Decay decay{average.decay};
        inputs.average_keep = decay.keep;
        inputs.average_take = decay.take;
    }
    return inputs;
}

float clip_factor(const spec::Optimizer& optimizer, double norm) {
    const bool clips = optimizer.clip != spec::ClipPolicy::off && norm > optimizer.clip_norm;
    return clips ? static_cast<float>(optimizer.clip_norm / norm) : 1.0f;
}

}  // namespace ziggurat::optim
