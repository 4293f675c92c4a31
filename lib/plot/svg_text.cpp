#include "plot/svg_text.hpp"

#include <algorithm>

#include "base/text_width.hpp"

namespace ziggurat::plot {
namespace {

/// Advance of an ASCII character, in parts of the font's size.
double advance_of(char c) {
    constexpr std::string_view widest = "MW%@", wide = "mw", narrow = "ijlIft.,:;'|!()[] ";
    if (widest.find(c) != std::string_view::npos) {
        return 1.15;
    }
    if (wide.find(c) != std::string_view::npos) {
        return 1.06;
    }
    if (narrow.find(c) != std::string_view::npos) {
        return 0.5;
    }
    const bool is_small = c >= 'a' && c <= 'z';
    const bool is_digit = c >= '0' && c <= '9';
    return is_small || is_digit || c == '/' || c == '-' ? 0.72 : 0.88;
}

}  // namespace

double text_pixels(std::string_view text, double font_size) {
    double ems = 0;
    std::size_t plain = 0;
    for (const char c : text) {
        const bool is_ascii = c > 0;
        ems += is_ascii ? advance_of(c) : 0;
        plain += is_ascii ? 1 : 0;
    }
    // Of other scripts a column is at most as wide as a capital letter, and two are a square.
    ems += static_cast<double>(text_width(text) - static_cast<int>(plain));
    return ems * font_size;
}

std::string shortened_to(std::string_view text, double pixels, double font_size) {
    std::string best{text};
    for (int columns = text_width(text); columns > 4 && text_pixels(best, font_size) > pixels;) {
        best = shortened_from_left(text, --columns);
    }
    return best;
}

std::string escape_xml(std::string_view text) {
    std::string safe;
    for (const char c : text) {
        switch (c) {
            case '&':
                safe += "&amp;";
                break;
            case '<':
                safe += "&lt;";
                break;
            case '>':
                safe += "&gt;";
                break;
            case '"':
                safe += "&quot;";
                break;
            case '\'':
                safe += "&#39;";
                break;
            default:
                safe += c;
        }
    }
    return safe;
}

}  // namespace ziggurat::plot
