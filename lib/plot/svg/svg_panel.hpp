/// Curves and marks of one panel as SVG elements.
#pragma once

#include <cstddef>

#include "plot/figure.hpp"
#include "plot/svg/svg_elements.hpp"

namespace ziggurat::plot {

/// Draws the frame and the contents of panel `number`, without titles and ticks.
void draw_panel(const Figure& figure, std::size_t number, const PanelBox& box, SvgElements& elements);

}  // namespace ziggurat::plot
