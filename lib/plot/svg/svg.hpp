/// A figure as a self-contained SVG file: no external script, font or style.
#pragma once

#include <cstdint>
#include <string>

#include "plot/figure.hpp"
#include "plot/svg/svg_style.hpp"

namespace ziggurat::plot {

/// Useful maximum of points per line in a picture of this size.
inline constexpr std::int64_t points_across_svg = 420;

/// Returns the whole file: some kilobytes per line of points_across_svg points. Pure.
///
/// Texts do not overlap. A figure without a title has no row for it.
std::string svg(const Figure& figure, ColorScheme scheme = ColorScheme::as_the_viewer_asks);

}  // namespace ziggurat::plot
