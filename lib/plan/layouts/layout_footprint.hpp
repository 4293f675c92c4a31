/// Memory of one layout of a search.
#pragma once

#include <cstdint>

#include "plan/footprint.hpp"
#include "plan/watch.hpp"
#include "spec/machine_spec.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::plan {

/// Returns the bytes of a rank's device, or its share of a node's memory; spec::unlimited if unknown.
std::int64_t device_limit(const spec::RunSpec& spec, const spec::MachineSpec& machine);

/// Returns the larger footprint of the first and the last stage, or one that does not fit.
///
/// The first stage keeps most activations, the last has the logits.
Footprint footprint_of_ends(const spec::RunSpec& run, const spec::MachineSpec& machine, const Watch& watch);

}  // namespace ziggurat::plan
