/// Keys by which the decks of runs differ.
#pragma once

#include <vector>

#include "plot/comparison.hpp"
#include "plot/history.hpp"

namespace ziggurat::app {

/// Every key that some run has otherwise than the first, in the order of the reference, as the decks beside
/// their metrics say it: but names and folders of runs, and what the program has chosen in both. A run
/// without such a deck, or with one of another version, is told of and has `?` everywhere.
std::vector<plot::RunDifference> differences_of(const std::vector<plot::History>& histories);

}  // namespace ziggurat::app
