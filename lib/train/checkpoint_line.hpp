/// What people read about a checkpoint.
#pragma once

#include <string>

#include "train/step_report.hpp"

namespace ziggurat::train {

/// The end of a save in a line, well or not. Collective: local; pure
std::string checkpoint_line(const CheckpointReport& report);

}  // namespace ziggurat::train
