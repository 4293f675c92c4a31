/// The learning rate as a function of the step.
#pragma once

#include <cstdint>

#include "spec/run_spec.hpp"

namespace ziggurat::optim {

/// The learning rate of optimizer step `step` (from 0) of `steps`.
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
double learning_rate(const spec::LearningRate& schedule, double base, std::int64_t steps, std::int64_t step);

}  // namespace ziggurat::optim
