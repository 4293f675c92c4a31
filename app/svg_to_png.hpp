/// Pixels of an SVG picture, by a program that draws it.
#pragma once

#include <string>

namespace ziggurat::app {

inline constexpr const char* remedy_of_png = "Name a file that may be written: --png FILE.";

/// `svg` as the bytes of a PNG file, drawn by rsvg-convert, inkscape or cairosvg, the first that is on the
/// PATH.
///
/// \param beside  the file that it is for: what the program reads and writes lies beside it meanwhile
/// Errors: Error{resource} where there is no such program, or it makes no PNG file
std::string svg_to_png(const std::string& svg, const std::string& beside);

}  // namespace ziggurat::app
