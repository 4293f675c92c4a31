/// Texts of an SVG file: escapes, and their widths.
#pragma once

#include <string>
#include <string_view>

namespace ziggurat::plot {

/// Font of a text, in pixels.
struct SvgFont {
    double size = 12;
    bool is_bold = false;
};
inline constexpr SvgFont title_font{16, true}, panel_title_font{12, true};

/// Returns the width of `text` in the widest of the usual sans-serif fonts: an upper bound for viewers.
/// Pure.
///
/// Source: advances of DejaVu Sans and Verdana, rounded up
double text_pixels(std::string_view text, SvgFont font = {});

/// Returns `text` if it fits into `pixels`; else `...` and its end, which suits paths. Pure.
std::string shortened_to(std::string_view text, double pixels, SvgFont font = {});

/// Returns `text` with the special characters of XML replaced.
///
/// \pre `text` has no characters that XML cannot contain (printable())
std::string escape_xml(std::string_view text);

}  // namespace ziggurat::plot
