/// Durations of the slots of a stage, read from its simulated step.
#pragma once

#include <vector>

#include "plan/simulator/pipeline_time.hpp"
#include "plan/simulator/step_simulation.hpp"
#include "schedule/model_layout.hpp"
#include "schedule/step_program.hpp"

namespace ziggurat::plan {

/// Returns the middle of some values, or the smaller one of the two in the middle.
double lower_median(std::vector<double> values);

/// Returns the seconds of the slots of the first rank of `steps`, and of everything else in the step.
///
/// A slot takes the median time over micro-batches. By layer, slots of micro-batches alternate within each
/// unit: each takes an equal share of the time until the last forward, or of the time after it.
StageSlots read_slots(const schedule::Program& program,
                      const schedule::ModelLayout& model,
                      const SimulatedSteps& steps);

}  // namespace ziggurat::plan
