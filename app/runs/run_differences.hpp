/// Differences between the decks of runs.
#pragma once

#include <vector>

#include "plot/comparison.hpp"
#include "plot/history.hpp"

namespace ziggurat::app {

/// Returns the keys whose values differ between the first run and another.
///
/// They are in the order of the reference.
///
/// Values come from the decks in the folders of the metrics. Excluded are the names and folders of runs, and
/// values that the program has chosen in both. For a run without a deck, or with a deck of another version, a
/// note is printed and all values are `?`.
std::vector<plot::RunDifference> differences_of(const std::vector<plot::History>& histories);

}  // namespace ziggurat::app
