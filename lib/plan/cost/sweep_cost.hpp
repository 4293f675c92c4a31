/// Time of kernels that are bound by memory, such as norms, activations, sums and losses.
#pragma once

#include <span>

#include "layout/families/family.hpp"
#include "plan/cost/rates.hpp"
#include "plan/gpu/kernel_traffic.hpp"
#include "schedule/step_program.hpp"

namespace ziggurat::plan {

/// Returns the kind of the kernels of a phase that are bound by memory.
spec::SweepKind sweep_of(layout::PhaseKind phase);

/// Returns the seconds in which the kernels of one op move their bytes, without products and attention.
double sweep_seconds(std::span<const KernelUse> kernels,
                     spec::SweepKind sweep,
                     bool is_forward,
                     const Rates& rates);

/// Returns the seconds that the launches of kernels add.
double launch_seconds(std::span<const KernelUse> kernels, const Rates& rates);

}  // namespace ziggurat::plan
