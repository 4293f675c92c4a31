/// Inputs of a step's kernels: learning rate, bias corrections, weight decay, clipping.
#pragma once

#include <cstdint>

#include "kernels/launch/step_inputs.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::optim {

/// Fills the inputs of optimizer step `step` (from 0).
///
/// \param rate         learning rate of the step
/// \param update       number of this update, from 1. Steps that were skipped for a non-finite gradient made
///                     no update; bias corrections count updates
/// \param average      of the weights: it is a copy of them up to update number average.from
/// \param num_targets  target tokens of the whole global batch, >= 0; if 0, the loss scale is 0
/// Numerics: double, each number rounded once to float
kernels::StepInputs make_step_inputs(const spec::Optimizer& optimizer,
                                     const spec::Average& average,
                                     double rate,
                                     std::int64_t step,
                                     std::int64_t update,
                                     std::int64_t num_targets);

/// Returns the factor of gradients that are clipped by `norm`; 1 without clipping, or if `norm` is NaN.
float clip_factor(const spec::Optimizer& optimizer, double norm);

}  // namespace ziggurat::optim
