/// Buffers of tiles, in a program of fewer and larger ones.
#pragma once

#include <vector>

#include "plan/short_run.hpp"
#include "schedule/step_program.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::plan {

/// By buffer of `program`, which was built of `built`: what it has in `whole`, whose weights are cut into
/// more tiles, of what it has here. Less than 1 for what holds one tile or its gradient, there or on its
/// way; 1 for all others, also for those that are somewhat smaller too (workspaces, logits).
std::vector<double> tile_factors(const schedule::Program& program,
                                 const ShortRun& built,
                                 const spec::RunSpec& whole);

}  // namespace ziggurat::plan
