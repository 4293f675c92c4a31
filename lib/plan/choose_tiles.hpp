/// `tiers.tiles: auto`: into how many tiles weights are cut.
#pragma once

#include "plan/watch.hpp"
#include "spec/machine_spec.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::plan {

/// `spec` with the fewest tiles, of all weights alike, with which the device's budget is enough, and with the
/// homes, where they are open, that are chosen for them; with as many as there can be where none do. Where
/// the depth of prefetch is open as well, up to twice as many as without fetching ahead, which is worth them.
///
/// The number is sought with all state away that can go, where least is on the device.
spec::RunSpec choose_tiles(const spec::RunSpec& spec, const spec::MachineSpec& machine, const Watch& watch);

}  // namespace ziggurat::plan
