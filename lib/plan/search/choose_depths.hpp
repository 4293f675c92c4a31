/// Choice of `overlap.prefetch: auto`, `overlap.optimizer_prefetch: auto` and `tiers.chunk: auto`: how
/// early state is fetched, and the size of its chunks.
#pragma once

#include <array>

#include "plan/simulator/step_time.hpp"
#include "plan/watch.hpp"
#include "spec/depths.hpp"
#include "spec/machine_spec.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::plan {

/// Depths of overlap.prefetch that are tried.
inline constexpr int deepest = 4;

/// Depths of overlap.optimizer_prefetch that are tried, as multiples of overlap.prefetch.
inline constexpr std::array optimizer_depths{2, 4, 8, 16};

/// Chooses the depths of `spec` that are `auto`; its homes must be known.
///
/// The chunk has the usual size, halved while it exceeds the budgets at the smallest depth. With
/// Movement::chunks and known rates, it is the power of two with the shortest planned step within the
/// budgets. Depths are timed with step_seconds of the programs that would run (a part represents long
/// programs). Tried are prefetch from 1 to `deepest`, each with all `optimizer_depths` if optimizer states
/// are read from NVMe, until a step takes at most 2 % longer than the work of its busiest lane, which no
/// depth can hide. Among depths within the budgets, the smallest prefetch is chosen, and with it the smallest
/// optimizer depth, whose step takes at most 2 % longer than the best. If computation can hide the fetches,
/// that depth suffices to hide them; otherwise it keeps their lane busy. If no depth is within the budgets,
/// prefetch is 0. For programs so large that few can be built, fewer depths are tried. With all state on the
/// device, no state is fetched.
spec::Depths choose_depths(const spec::RunSpec& spec,
                           const spec::MachineSpec& machine,
                           spec::AutoDepths open,
                           const Rates& rates,
                           const Watch& watch = {});

/// True if an open depth depends on the rates of disks, and these rates are unknown.
bool depends_on_unknown_disks(const spec::RunSpec& spec,
                              const spec::MachineSpec& machine,
                              spec::AutoDepths open);

/// Chooses the depths with the rates of the machine.
spec::Depths choose_depths(const spec::RunSpec& spec,
                           const spec::MachineSpec& machine,
                           spec::AutoDepths open,
                           const Watch& watch = {});

}  // namespace ziggurat::plan
