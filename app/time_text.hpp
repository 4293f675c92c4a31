/// Planned time of a training in words.
#pragma once

#include <string>

#include "spec/machine_spec.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::app {

/// Estimated time and speed by the rates of the machine, and what of the run they leave out; or which rates
/// are missing, and the commands that measure them.
std::string time_text(const spec::RunSpec& run, const spec::MachineSpec& machine);

}  // namespace ziggurat::app
