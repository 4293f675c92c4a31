/// Scaling of tile buffers, for a program built with fewer and larger tiles.
#pragma once

#include <vector>

#include "plan/reduced_run.hpp"
#include "schedule/step_program.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::plan {

/// Returns, by buffer of `program`, its size in `whole` relative to its size here.
///
/// `program` was built from `built`; the weights of `whole` have more tiles. The factor is below 1 for
/// buffers of one tile or its gradient, including staging buffers. It is 1 for all others, even if they also
/// shrink slightly (workspaces, logits).
std::vector<double> tile_factors(const schedule::Program& program,
                                 const ReducedRun& built,
                                 const spec::RunSpec& whole);

}  // namespace ziggurat::plan
