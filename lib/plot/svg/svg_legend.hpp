/// Legend of an SVG file: names of runs, lines and marks.
#pragma once

#include "plot/figure.hpp"
#include "plot/svg/svg_elements.hpp"

namespace ziggurat::plot {

/// Draws rows of symbols and names, with the first baseline at `y`. Returns the last baseline.
double draw_legend(const Figure& figure, double y, SvgElements& elements);

}  // namespace ziggurat::plot
