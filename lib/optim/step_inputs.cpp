#include "optim/step_inputs.hpp"

#include <cmath>

#include "base/contract.hpp"
#include "optim/learning_rate.hpp"

namespace ziggurat::optim {
namespace {

/// 1 - beta^t; by expm1, for the plain difference loses digits where beta is close to 1. Of beta as the
/// kernel has it, a float: the moments that are corrected were made with that.
double bias_correction(double wanted, std::int64_t update) {
    const double beta = static_cast<double>(static_cast<float>(wanted));
    return beta > 0 ? -std::expm1(static_cast<double>(update) * std::log(beta)) : 1.0;
}

}  // namespace

kernels::StepInputs make_step_inputs(const spec::Optimizer& optimizer,
                                     const spec::LearningRate& schedule,
                                     std::int64_t steps,
                                     std::int64_t step,
                                     std::int64_t update,
                                     std::int64_t num_targets) {
    ZG_EXPECTS(update >= 1 && num_targets >= 0);
    kernels::StepInputs inputs;
    inputs.step = step;
    inputs.learning_rate = static_cast<float>(learning_rate(schedule, optimizer.lr, steps, step));
    inputs.inverse_bias1 = static_cast<float>(1 / bias_correction(optimizer.beta1, update));
    inputs.inverse_sqrt_bias2 = static_cast<float>(1 / std::sqrt(bias_correction(optimizer.beta2, update)));
    inputs.loss_scale = num_targets > 0 ? static_cast<float>(1 / static_cast<double>(num_targets)) : 0.0f;
    return inputs;
}

}  // namespace ziggurat::optim
