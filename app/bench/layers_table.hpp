/// Table of the ops of a measured model: measured seconds, and planned seconds at measured rates.
#pragma once

#include <string>

#include "app/bench/measure_layers.hpp"
#include "spec/machine_spec.hpp"

namespace ziggurat::app {

/// Returns the table, by phase and direction, and for the whole compute lane.
std::string layers_table(const TimedModel& timed, const spec::MachineSpec& machine);

}  // namespace ziggurat::app
