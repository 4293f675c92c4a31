/// A figure as an SVG file of its own: no script, no font, no style from elsewhere.
#pragma once

#include <string>
#include <string_view>

#include "plot/figure.hpp"

namespace ziggurat::plot {

/// Points of a line that are worth having in a picture of this size.
inline constexpr std::int64_t points_across_svg = 420;

/// Colours of a picture.
enum class Scheme {
    as_the_viewer_asks,  ///< light, and dark where the viewer asks for it
    light                ///< for programs that know no viewer
};

/// The whole file. Some kilobytes for each line of
/// points_across_svg points. Pure.
std::string svg(const Figure& figure, Scheme scheme = Scheme::as_the_viewer_asks);

/// `text` with what XML gives a meaning replaced. What XML cannot hold must not be in it (printable()).
std::string escape_xml(std::string_view text);

}  // namespace ziggurat::plot
