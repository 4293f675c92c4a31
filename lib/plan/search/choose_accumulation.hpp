/// Choice of `train.accumulate: auto`: the order of a step's micro-batches.
#pragma once

#include "plan/watch.hpp"
#include "spec/accumulation_choice.hpp"
#include "spec/machine_spec.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::plan {

/// Chooses by_layer if its planned step is shorter and the budgets suffice for it, else by_micro_batch.
///
/// By layer, parameters are read and gathered less often, but values between layers move, and activations of
/// all micro-batches exist at the same time. A difference of less than 1 % does not count. Homes must be
/// known.
spec::AccumulationChoice choose_accumulation(const spec::RunSpec& spec,
                                             const spec::MachineSpec& machine,
                                             const Watch& watch = {});

}  // namespace ziggurat::plan
