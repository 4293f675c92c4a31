/// Planned time of a training, as text.
#pragma once

#include <string>

#include "spec/machine_spec.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::app {

/// Returns estimated time and speed, and the parts of the run that they exclude.
///
/// If rates are missing, returns their names and the commands that measure them.
std::string time_text(const spec::RunSpec& run, const spec::MachineSpec& machine);

}  // namespace ziggurat::app
