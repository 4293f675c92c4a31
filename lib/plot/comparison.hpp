/// Comparison of runs: their key figures, and the keys in which their decks differ.
#pragma once

#include <string>
#include <vector>

#include "plot/history.hpp"

namespace ziggurat::plot {

/// Deck key whose value differs between runs.
struct RunDifference {
    std::string key;                  ///< `optimizer.lr`
    std::vector<std::string> values;  ///< one per run
};

/// One row of a comparison.
struct ComparisonRow {
    std::string label;                ///< `best validation`
    std::vector<std::string> values;  ///< one per run; `-`: the run has no such value
};

/// Returns steps, losses, speed, time and marks of each run. Pure.
///
/// If the runs differ in length, rows for the losses at the last common step are added.
///
/// \pre each has a step
std::vector<ComparisonRow> compare(const std::vector<History>& histories);

/// Formats compare(), followed by a row for each difference, with one column per run. Pure.
///
/// Runs that do not fit into `columns` follow in a further table; 0: unlimited width.
///
/// \pre each history has a step, and each difference has one value per history
std::string comparison_text(const std::vector<History>& histories,
                            const std::vector<RunDifference>& differences,
                            int columns);

}  // namespace ziggurat::plot
