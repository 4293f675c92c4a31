/// Curves and marks of one panel as SVG elements.
#pragma once

#include <cstddef>

#include "plot/figure.hpp"
#include "plot/svg_elements.hpp"

namespace ziggurat::plot {

/// Draws all that lies within the box of panel `number`, and its frame. Titles and ticks are not part of it.
void draw_panel(const Figure& figure, std::size_t number, const PanelBox& box, SvgElements& elements);

}  // namespace ziggurat::plot
