/// Offloading of values that wait for the next unit while other micro-batches run.
#pragma once

#include "schedule/expand/expand.hpp"

namespace ziggurat::schedule {

/// Moves values that wait for the passes of other micro-batches to tiers.home.activations.
///
/// Only train.accumulate by_layer has such values. This pass moves those that are not saved for backward:
/// gradients of units' inputs, inputs that only forward reads, and whole activations of which recompute.split
/// saves a part. Without the transfers, the device would hold one for each micro-batch. If the home is
/// divided, the values of the first micro-batches go to NVMe, those of the next ones to the host. A value
/// stays on the device if it waits for fewer passes than its transfers take.
///
/// Runs after activation_pass.
///
/// Source: GreedySnake, 2025 (arXiv 2512.17570): vertical scheduling
void boundary_pass(ProgramBuilder& draft, const spec::RunSpec& spec);

}  // namespace ziggurat::schedule
