/// The learning rate as a function of the step.
#pragma once

#include "spec/run_spec.hpp"

namespace ziggurat::optim {

/// The place of a step in its schedule, counted in steps of the size that they have now: a fraction where
/// tokens are counted and steps had another size before.
struct SchedulePoint {
    double step = 0;         ///< before it
    double steps = 0;        ///< of the schedule, >= 1
    double warmup_step = 0;  ///< before it, as the warm-up counts
};

/// The learning rate of the step at a point.
///
/// With w = warmup_steps, n = steps, f = final_fraction and s = step + 1:
///
///     warm-up, s <= w      base s / w: the first step takes base / w, step w - 1 takes base, none takes 0
///     after it             base g(x), x = (s - w) / (n - w): step w takes x = 1 / (n - w), the last step x =
///     1
///       constant           g = 1
///       linear             g = 1 - (1 - f) x
///       cosine             g = f + (1 - f) (1 + cos(pi x)) / 2
///       warmup_stable_decay  g = 1 until the last d = decay_steps steps (at most n - w), in which it falls
///       linearly:
///                          the first of them takes 1 - (1 - f) / d
///
/// So the last step takes base x final_fraction, except with `constant`; a run that goes on beyond `steps`
/// stays there.
///
/// Numerics: double
double learning_rate(const spec::LearningRate& schedule, double base, const SchedulePoint& at);

/// Of step `step` (from 0) of a run that has been as it is from its first step on.
inline double learning_rate(const spec::LearningRate& schedule,
                            double base,
                            std::int64_t steps,
                            std::int64_t step) {
    const auto at = static_cast<double>(step);
    return learning_rate(schedule, base, {at, static_cast<double>(steps), at});
}

}  // namespace ziggurat::optim
