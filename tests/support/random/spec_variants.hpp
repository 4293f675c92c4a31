/// Runs with a grid or cube of tensor ranks, with tiers.reuse, or with the schedule pipedream.
#pragma once

#include "spec/run_spec.hpp"

namespace ziggurat::test {

/// Returns the run with a grid of tensor ranks of the side `side`, or as it is if it cannot have one.
spec::RunSpec with_grid(const spec::RunSpec& spec, int side, int max_ranks);

/// Returns the run of a grid with a cube of its side.
///
/// Returns it as it is if it has no grid, or if the cube would have too many ranks.
spec::RunSpec with_cube(const spec::RunSpec& spec, int max_ranks);

/// Returns the run with gradients in the memory of parameters (tiers.reuse).
///
/// It has bf16, one micro-batch, equal shards and homes, and updates after backward.
///
/// \pre the run has one stage
spec::RunSpec with_reuse(spec::RunSpec spec);

/// Returns the run with the schedule pipedream, and with settings that it allows.
spec::RunSpec without_flush(spec::RunSpec spec);

}  // namespace ziggurat::test
