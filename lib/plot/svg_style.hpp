/// Colours and line patterns of an SVG file.
#pragma once

#include <cstddef>
#include <string>

namespace ziggurat::plot {

/// Colours of a picture.
enum class Scheme {
    as_the_viewer_asks,  ///< light, and dark where the viewer asks for it
    light                ///< for programs that know no viewer
};

inline constexpr std::size_t num_svg_colours = 8;
/// Of what belongs to no run or lane.
inline constexpr std::size_t grey = num_svg_colours - 1;

/// The style sheet. Classes `s<i>` and `c<i>` are strokes and areas of colour i; `k` and `x` stand out.
std::string style_sheet(Scheme scheme);

/// Colour of run or lane `number`: as many runs as there are colours have one of their own.
std::size_t colour_of(std::size_t number);

/// Attribute of the line pattern that tells runs of one colour apart; empty for the first ones.
std::string dash_of(std::size_t number);

}  // namespace ziggurat::plot
