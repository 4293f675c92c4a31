/// Runs as one HTML page: without scripts, and without anything from elsewhere.
#pragma once

#include <string>
#include <vector>

#include "plot/comparison.hpp"
#include "plot/figure.hpp"
#include "plot/history.hpp"

namespace ziggurat::plot {

/// The whole file: a table of the runs, what their decks differ in, their curves over each other, checkpoints
/// and events. Only the curves are of the part that `style` has. Light, and dark where the viewer asks for
/// it. Of long runs the latest checkpoints and events. Pure.
///
/// \pre `histories` is not empty, and each has a step
std::string page(const std::vector<History>& histories,
                 const std::vector<RunDifference>& differences = {},
                 FigureStyle style = {});

}  // namespace ziggurat::plot
