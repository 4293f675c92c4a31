/// A figure as an SVG file of its own: no script, no font, no style from elsewhere.
#pragma once

#include <cstdint>
#include <string>

#include "plot/figure.hpp"
#include "plot/svg_style.hpp"

namespace ziggurat::plot {

/// Points of a line that are worth having in a picture of this size.
inline constexpr std::int64_t points_across_svg = 420;

/// The whole file. Some kilobytes for each line of points_across_svg points. No text overlaps another. A
/// figure without a title has no row for it. Pure.
std::string svg(const Figure& figure, Scheme scheme = Scheme::as_the_viewer_asks);

}  // namespace ziggurat::plot
