/// Curves of runs as one table of comma-separated values.
#pragma once

#include <string>
#include <vector>

#include "plot/history.hpp"

namespace ziggurat::plot {

/// Returns a table of all steps of all runs. Pure.
///
/// The first row has the headings. Each step is one row: `step`, then for each run the tokens since the
/// training began, the time in seconds since 1970 (UTC), the time in training, and a column for each curve
/// of a figure. Runs of preference objectives have columns of rewards.
/// `resumes`, `roll_backs`, `spikes` and `crashes` count the marks of that step, and for runs with several
/// sources `weight_changes`, which take effect after that step. With several runs, headings
/// end with the run's folder. A cell is empty if the run has no such value at that step, and `nan` if its
/// loss was not finite. The format is RFC 4180 with line feeds.
std::string csv(const std::vector<History>& histories);

}  // namespace ziggurat::plot
