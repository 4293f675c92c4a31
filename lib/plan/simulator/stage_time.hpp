/// Time of one pipeline stage's work, from the program of one of its ranks.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "plan/cost/energy_uses.hpp"
#include "plan/cost/rates.hpp"
#include "plan/simulator/pipeline_time.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::plan {

/// Seconds in a step by the name of a lane or kind of work.
using SecondsByWork = std::map<std::string, double>;

/// Work of a stage in a step.
struct StageTime {
    StageSlots slots;
    SecondsByWork lanes;  ///< by lane: time in which it works
    SecondsByWork path;   ///< what the compute lane's time consists of: see critical_path
    SecondsByWork works;  ///< by kind of work: time of all its ops, on the path or not
    EnergyUses uses{};    ///< of a rank: FLOP and bytes that take energy
};

/// Returns the time of the stage of `rank`.
///
/// The rank's program is built with few layers and micro-batches, and simulated with all other ranks always
/// ready. The seconds of each further layer and micro-batch are those that one more of them adds.
///
/// With Movement::chunks, steps of at most max_passes are built whole; longer ones with static movement,
/// which takes at least as long.
StageTime stage_time(const spec::RunSpec& spec, int rank, const Rates& rates);

}  // namespace ziggurat::plan
