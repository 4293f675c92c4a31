/// `overlap.prefetch: auto`, `overlap.optimizer_prefetch: auto` and `tiers.chunk: auto`: how far ahead state
/// is fetched, and in what pieces.
#pragma once

#include <array>

#include "plan/step_time.hpp"
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
/// The chunk is the usual one, halved while the budgets do not hold it at the least depth. The depth is the
/// least whose step takes at most 2 % longer than that of the best one, by step_seconds of the programs that
/// would run (of long ones a part stands for all), among those that the budgets hold: where fetches hide
/// behind computing that is enough to hide them, and where they do not it keeps their lane busy. The least is
/// 1, or 0 where the budgets hold nothing else. With all state on the device nothing is fetched, and 1 it is.
/// That of optimizer states on NVMe is chosen in the same way, behind it.
spec::Depths choose_depths(const spec::RunSpec& spec,
                           const spec::MachineSpec& machine,
                           spec::OpenDepths open,
                           const Rates& rates);

/// By the rates of the machine.
spec::Depths choose_depths(const spec::RunSpec& spec,
                           const spec::MachineSpec& machine,
                           spec::OpenDepths open);

}  // namespace ziggurat::plan
