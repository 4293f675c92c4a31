/// Human-readable lines about checkpoints.
#pragma once

#include <string>

#include "train/account/step_report.hpp"

namespace ziggurat::train {

/// Returns a line about a save that has completed or failed.
///
/// The path is shortened to fit the line into `columns`; 0: no limit. A failure is never shortened.
/// Collective: local; pure
std::string checkpoint_line(const CheckpointReport& report, int columns = 0);

}  // namespace ziggurat::train
