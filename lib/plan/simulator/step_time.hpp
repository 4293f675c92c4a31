/// Time of a rank's step at given rates.
#pragma once

#include "plan/cost/rates.hpp"
#include "schedule/model_layout.hpp"
#include "schedule/step_program.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::plan {

/// Returns the seconds of a step of `program` in the steady state, with all other ranks always ready.
///
/// \pre the program has dependencies
double step_seconds(const schedule::Program& program,
                    const spec::RunSpec& spec,
                    const schedule::ModelLayout& model,
                    const Rates& rates);

/// Time of a step, and a lower bound of it for any order of its ops.
struct LaneTime {
    double seconds = 0;
    double busy = 0;  ///< see RankLanes::busy_seconds
};

/// Returns step_seconds() with its lower bound.
LaneTime lane_time(const schedule::Program& program,
                   const spec::RunSpec& spec,
                   const schedule::ModelLayout& model,
                   const Rates& rates);

/// Returns step_seconds() of a program without a model; its ops are counted by FLOP and bytes.
double step_seconds(const schedule::Program& program, const Rates& rates);

}  // namespace ziggurat::plan
