/// `overlap.prefetch: auto`, `overlap.optimizer_prefetch: auto` and `tiers.chunk: auto`: how far ahead state
/// is fetched, and in what pieces.
#pragma once

#include <array>

#include "plan/step_time.hpp"
#include "plan/watch.hpp"
#include "spec/depths.hpp"
#include "spec/machine_spec.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::plan {

/// Depths of overlap.prefetch that are tried.
inline constexpr int deepest = 4;

/// Depths of overlap.optimizer_prefetch that are tried: this many times overlap.prefetch.
inline constexpr std::array optimizer_depths{2, 4, 8, 16};

/// Of `spec`, whose homes are known, what is open.
///
/// The chunk is the usual one, halved while the budgets do not hold it at the least depth. Depths are timed
/// by step_seconds of the programs that would run (of long ones a part stands for all): prefetch from 1 to
/// `deepest`, each with the `optimizer_depths` of states that are read from NVMe. Of those that the budgets
/// hold, the least prefetch, and with it the least depth of states, whose step takes at most 2 % longer than
/// the best: where fetches hide behind computing that is enough to hide them, and where they do not it keeps
/// their lane busy. Where the budgets hold none of them, prefetch is 0. Of programs so large
/// that few can be built, fewer depths are tried. With all state on the device nothing
/// is fetched.
spec::Depths choose_depths(const spec::RunSpec& spec,
                           const spec::MachineSpec& machine,
                           spec::OpenDepths open,
                           const Rates& rates,
                           const Watch& watch = {});

/// Whether what is open depends on disks, and nothing is known of how fast they are.
bool depends_on_unknown_disks(const spec::RunSpec& spec,
                              const spec::MachineSpec& machine,
                              spec::OpenDepths open);

/// By the rates of the machine.
spec::Depths choose_depths(const spec::RunSpec& spec,
                           const spec::MachineSpec& machine,
                           spec::OpenDepths open,
                           const Watch& watch = {});

}  // namespace ziggurat::plan
