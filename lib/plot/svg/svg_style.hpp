/// Colours and line patterns of an SVG file.
#pragma once

#include <cstddef>
#include <string>

namespace ziggurat::plot {

/// Colours of a picture.
enum class ColorScheme {
    as_the_viewer_asks,  ///< light, or dark if the viewer prefers it
    light                ///< for programs without that preference
};

inline constexpr std::size_t num_svg_colours = 8;
/// Colour of elements that belong to no run or lane.
inline constexpr std::size_t grey = num_svg_colours - 1;

/// Returns the style sheet. Classes `s<i>` and `c<i>` are strokes and areas of colour i; `k` and `x`
/// stand out.
std::string style_sheet(ColorScheme scheme);

/// Returns the colour of run or lane `number`. The first num_svg_colours runs have distinct colours.
std::size_t colour_of(std::size_t number);

/// Returns the attribute of the line pattern that distinguishes runs of one colour; empty for the first
/// ones.
std::string dash_of(std::size_t number);

}  // namespace ziggurat::plot
