/// Curves of runs as one table of comma-separated values.
#pragma once

#include <string>
#include <vector>

#include "plot/history.hpp"

namespace ziggurat::plot {

/// A heading, and a row for each step that a run has made: `step`, then of each run tokens since the training
/// began, the time in seconds since 1970 (UTC), the time in training, and a column for each curve that a
/// figure has of it. `resumes`, `roll_backs`, `spikes` and `crashes` count the marks of that step. Of several
/// runs, headings end with the run's folder. A cell is empty where the run has no such value there, and `nan`
/// where its loss was not finite. As of RFC 4180, with line feeds. Pure.
std::string csv(const std::vector<History>& histories);

}  // namespace ziggurat::plot
