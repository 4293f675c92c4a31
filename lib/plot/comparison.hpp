/// Runs side by side: what they have come to, and by which keys their decks differ.
#pragma once

#include <string>
#include <vector>

#include "plot/history.hpp"

namespace ziggurat::plot {

/// A key of decks that runs have with different values.
struct RunDifference {
    std::string key;                  ///< `optimizer.lr`
    std::vector<std::string> values;  ///< of each run
};

/// One row of a comparison.
struct ComparisonRow {
    std::string label;                ///< `best validation`
    std::vector<std::string> values;  ///< of each run; `-`: it has none
};

/// Steps, losses, speed, time and marks of each run; of runs of different lengths also the losses at the last
/// step that all have. Pure.
///
/// \pre each has a step
std::vector<ComparisonRow> compare(const std::vector<History>& histories);

/// A column for each run, below its name: compare(), then a row for each difference. Runs that do not fit
/// beside each other into `columns` follow below; 0: as many as there are. Pure.
///
/// \pre each has a step, and each difference as many values
std::string comparison_text(const std::vector<History>& histories,
                            const std::vector<RunDifference>& differences,
                            int columns);

}  // namespace ziggurat::plot
