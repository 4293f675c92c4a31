/// Conversion of an SVG picture to PNG by an external program.
#pragma once

#include <string>

namespace ziggurat::app {

inline constexpr const char* remedy_of_png = "Name a file that may be written: --png FILE.";

/// Returns `svg` as the bytes of a PNG file.
///
/// Uses the first of rsvg-convert, inkscape and cairosvg on the PATH.
///
/// \param neighbour_path  path of the output file; temporary files are created in its folder
/// Errors: Error{resource} if no such program exists, or it writes no PNG file
std::string svg_to_png(const std::string& svg, const std::string& neighbour_path);

}  // namespace ziggurat::app
