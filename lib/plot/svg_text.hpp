/// Texts of an SVG file: escapes, and the room that they take.
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

/// Width of `text` in the widest of the usual sans-serif fonts, so that no viewer needs more. Pure.
///
/// Source: advances of DejaVu Sans and Verdana, rounded up
double text_pixels(std::string_view text, SvgFont font = {});

/// `text` as it is where it takes at most `pixels`; else `...` and its end, as is best for a path. Pure.
std::string shortened_to(std::string_view text, double pixels, SvgFont font = {});

/// `text` with what XML gives a meaning replaced. What XML cannot hold must not be in it (printable()).
std::string escape_xml(std::string_view text);

}  // namespace ziggurat::plot
