/// Planned time of a training, as text.
#pragma once

#include <optional>
#include <string>

#include "plan/planned_time.hpp"
#include "spec/machine_spec.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::app {

/// Returns estimated time and speed, and the parts of the run that they exclude.
///
/// If rates are missing, returns their names and the commands that measure them.
///
/// \param step_seconds  as of plan::planned_step_seconds
/// \param is_lower_bound  true if only a kept peak is known (deck::LoadedDeck::has_kept_peak)
std::string time_text(const spec::RunSpec& run,
                      const spec::MachineSpec& machine,
                      std::optional<double> step_seconds,
                      bool is_lower_bound = false);

/// Returns the lines that say what bounds a step, and how long each lane works.
std::string planned_parts(const plan::PlannedTime& time,
                          const spec::RunSpec& run,
                          const spec::MachineSpec& machine);

}  // namespace ziggurat::app
