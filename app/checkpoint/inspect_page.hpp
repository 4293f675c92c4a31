/// `ziggurat inspect --html`: page of a run's last measured step next to the planned one.
#pragma once

#include "app/checkpoint/checkpoint_options.hpp"

namespace ziggurat::app {

/// Writes the page, and prints the planned time of a step of the run, with its own deck and ranks.
///
/// Returns the exit code. Errors: Error{deck} if the folder has no metrics; those of plan()
int inspect_page(const InspectOptions& options);

}  // namespace ziggurat::app
