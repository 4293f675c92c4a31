/// Offloading of activations that are saved for backward.
#pragma once

#include "schedule/expand/expand.hpp"

namespace ziggurat::schedule {

/// Moves activations that forward saves for backward to their home.
///
/// The home is the tier of their fate (recompute.fates), or that of tiers.home.activations.
///
/// Each saved buffer leaves the device as soon as forward has made it. It returns to another device buffer
/// overlap.prefetch unit passes before backward needs it. Transfers to and from NVMe use a buffer on the
/// host. If the home is divided, the activations that forward makes first go to NVMe, the next ones to the
/// host: they stay away the longest. Activations that forward last uses in the head's pass and that backward
/// needs there stay on the device, because backward would need them before the transfer out has ended.
///
/// With train.accumulate by_layer, the input of the next unit waits for the passes of all other
/// micro-batches. It waits at home and returns for the forward of that unit, if it waits for more passes than
/// its transfers take. boundary_pass moves the other values that wait.
///
/// Source: Rajbhandari et al., "ZeRO-Infinity", 2021, section 5.2.3 (activation checkpoints).
void activation_pass(ProgramBuilder& draft, const spec::RunSpec& spec);

}  // namespace ziggurat::schedule
