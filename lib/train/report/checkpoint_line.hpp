/// Lines about checkpoints for people.
#pragma once

#include <string>

#include "train/account/step_report.hpp"

namespace ziggurat::train {

/// The end of a save in a line, well or not. It is made to fit into `columns` by shortening the path, 0: all
/// is said; what went wrong always is. Collective: local; pure
std::string checkpoint_line(const CheckpointReport& report, int columns = 0);

}  // namespace ziggurat::train
