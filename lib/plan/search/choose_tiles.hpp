/// Choice of `tiers.tiles: auto`: the number of tiles of weights.
#pragma once

#include "plan/watch.hpp"
#include "spec/machine_spec.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::plan {

/// Returns `spec` with the smallest equal number of tiles for all weights that fits the device's
/// budget.
///
/// Open homes are chosen for each number. If no number fits, returns the maximum. If the depth of prefetch is
/// also open, the number may be up to twice that without prefetching, because prefetching is worth that.
///
/// The search first moves all state with an open home away from the device, which minimizes device memory.
spec::RunSpec choose_tiles(const spec::RunSpec& spec, const spec::MachineSpec& machine, const Watch& watch);

}  // namespace ziggurat::plan
