/// HTML page of runs, without scripts and external resources.
#pragma once

#include <string>
#include <vector>

#include "plot/comparison.hpp"
#include "plot/figure.hpp"
#include "plot/history.hpp"

namespace ziggurat::plot {

/// Returns the whole HTML file. Pure.
///
/// It has a table of the runs, the differences of their decks, their overlaid curves, checkpoints and events.
/// Only the curves are limited to the range of `style`. The colours are light, or dark if the viewer prefers
/// that.
/// For long runs, only the latest checkpoints and events are listed.
///
/// \pre `histories` is not empty, and each has a step
std::string page(const std::vector<History>& histories,
                 const std::vector<RunDifference>& differences = {},
                 FigureStyle style = {});

}  // namespace ziggurat::plot
