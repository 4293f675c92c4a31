/// Table of the runs of a sweep.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/sweep/sweep_grid.hpp"
#include "plot/history.hpp"

namespace ziggurat::app {

/// A run of a sweep and its metrics; nullopt: it has made no step.
struct SweptRun {
    SweepRun run;
    std::string folder;
    std::optional<plot::History> history;
};

/// Reads the metrics of the runs in the folder of a sweep.
std::vector<SweptRun> read_swept_runs(const SweepGrid& grid, const std::string& folder);

/// Formats the runs in the order of their best validation losses, or of their last losses without any.
///
/// The columns are the values, the losses, the steps, the speed and the state.
std::string sweep_table(const SweepGrid& grid, const std::vector<SweptRun>& runs);

/// Returns the same as CSV, in the order of the sweep, with full precision and the folders.
std::string sweep_csv(const SweepGrid& grid, const std::vector<SweptRun>& runs);

}  // namespace ziggurat::app
