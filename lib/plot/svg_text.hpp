/// Texts of an SVG file: escapes, and the room that they take.
#pragma once

#include <string>
#include <string_view>

namespace ziggurat::plot {

/// Size of all texts except the title of the figure.
inline constexpr double font_pixels = 12;

/// Width of `text` in the widest of the usual sans-serif fonts, so that no viewer needs more. Pure.
///
/// Source: advances of DejaVu Sans Bold and Verdana Bold, rounded up
double text_pixels(std::string_view text, double font_size = font_pixels);

/// `text` as it is where it takes at most `pixels`; else `...` and its end, as is best for a path. Pure.
std::string shortened_to(std::string_view text, double pixels, double font_size = font_pixels);

/// `text` with what XML gives a meaning replaced. What XML cannot hold must not be in it (printable()).
std::string escape_xml(std::string_view text);

}  // namespace ziggurat::plot
