/// Titles of the panels of an SVG file, with the labels of their curves, and labels of marks.
#pragma once

#include "plot/figure.hpp"
#include "plot/svg/svg_elements.hpp"

namespace ziggurat::plot {

/// Draws the title of a panel below `y`, and next to it or below it the labels of its curves.
///
/// Labels of a stack begin with its upper lane. Returns the top of the panel's box.
double draw_panel_title(const Panel& panel, double y, SvgElements& elements);

/// Draws the labels of marks in one row above the box of the first panel, if there are any.
///
/// If the longest labels do not fit next to each other, all are short ones. Short ones that do not fit are
/// left out; tooltips have their text. Returns the top of the box.
double draw_mark_labels(const Figure& figure, double top, SvgElements& elements);

}  // namespace ziggurat::plot
