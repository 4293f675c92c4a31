/// The learning rate as a function of the step.
#pragma once

#include "spec/run_spec.hpp"

namespace ziggurat::optim {

/// The position of a step in its schedule, in steps of the current batch size.
///
/// Positions are fractions if the schedule counts tokens and earlier steps had another batch size.
struct SchedulePoint {
    double step = 0;         ///< steps before this one
    double steps = 0;        ///< length of the schedule, >= 1
    double warmup_step = 0;  ///< warm-up steps before this one, as the warm-up counts them
};

/// Returns the learning rate of the step at a point.
///
/// With w = warmup_steps, n = steps, f = final_fraction and s = step + 1:
///
///     warm-up, s <= w      base s / w: step 0 takes base / w, step w - 1 takes base, no step takes 0
///     after the warm-up    base g(x), x = (s - w) / (n - w): step w takes x = 1 / (n - w), the last takes 1
///       constant           g = 1
///       linear             g = 1 - (1 - f) x
///       cosine             g = f + (1 - f) (1 + cos(pi x)) / 2
///       warmup_stable_decay  g = 1, except in the last d = decay_steps steps (at most n - w). There g falls
///                          linearly: the first of them takes 1 - (1 - f) / d
///
/// The last step takes base x final_fraction, except with `constant`. A run that continues beyond `steps`
/// keeps that rate.
///
/// Numerics: double
double learning_rate(const spec::LearningRate& schedule, double base, const SchedulePoint& at);

/// Returns the rate of step `step` (from 0) of a run whose batch size never changed.
inline double learning_rate(const spec::LearningRate& schedule,
                            double base,
                            std::int64_t steps,
                            std::int64_t step) {
    const auto at = static_cast<double>(step);
    return learning_rate(schedule, base, {at, static_cast<double>(steps), at});
}

}  // namespace ziggurat::optim
