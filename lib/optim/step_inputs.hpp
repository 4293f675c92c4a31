/// Inputs of a step's kernels: learning rate, bias corrections, weight decay, clipping.
#pragma once

#include <cstdint>

#include "kernels/step_inputs.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::optim {

/// Fills the inputs of optimizer step `step` (from 0).
///
/// \param rate         its learning rate
/// \param update       which update this will be, from 1: steps that were skipped for a non-finite gradient
/// have
///                     done none, and the bias corrections count updates
/// \param num_targets  target tokens of the whole global batch, >= 0; with none the loss scale is 0
/// Numerics: double, each number rounded once to float
kernels::StepInputs make_step_inputs(const spec::Optimizer& optimizer,
                                     double rate,
                                     std::int64_t step,
                                     std::int64_t update,
                                     std::int64_t num_targets);

}  // namespace ziggurat::optim
