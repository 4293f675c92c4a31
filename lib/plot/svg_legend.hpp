/// Legend of an SVG file: names of runs, lines and marks.
#pragma once

#include "plot/figure.hpp"
#include "plot/svg_elements.hpp"

namespace ziggurat::plot {

/// Draws rows of symbols and names, the first with its baseline at `y`. Returns the baseline of the last.
double draw_legend(const Figure& figure, double y, SvgElements& elements);

}  // namespace ziggurat::plot
