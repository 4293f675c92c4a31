#include "plot/svg/svg_text.hpp"

#include <array>

#include "base/text/text_width.hpp"

namespace ziggurat::plot {
namespace {

/// Advances of the characters from space to tilde, in hundredths of the font's size.
constexpr std::array<unsigned char, 95> advances{
    36, 42, 48, 87, 66, 108, 81, 29,  46,  46, 64, 87, 37, 46, 37, 46, 66, 66, 66, 66, 66, 66, 66, 66,
    66, 66, 46, 46, 87, 87,  87, 55,  103, 71, 71, 72, 80, 66, 60, 80, 78, 43, 46, 68, 58, 89, 78, 82,
    63, 82, 72, 66, 63, 76,  71, 102, 71,  63, 71, 46, 46, 46, 87, 64, 64, 64, 66, 57, 66, 64, 37, 66,
    66, 29, 36, 60, 29, 101, 66, 64,  66,  66, 44, 54, 41, 66, 61, 85, 61, 61, 55, 66, 46, 66, 87};
constexpr int first_character = 32;
constexpr double bolder = 0.11;  ///< maximum extra width of a bold character

double advance_of(char c, bool is_bold) {
    const std::size_t at = static_cast<unsigned char>(c) - first_character;
    return (at < advances.size() ? advances[at] / 100.0 : 1) + (is_bold ? bolder : 0);
}

}  // namespace

double text_pixels(std::string_view text, SvgFont font) {
    double ems = 0;
    std::size_t plain = 0;
    for (const char c : text) {
        const bool is_ascii = c > 0;
        ems += is_ascii ? advance_of(c, font.is_bold) : 0;
        plain += is_ascii ? 1 : 0;
    }
    // In other scripts a column is at most as wide as a capital letter, and two columns are a square.
    ems += static_cast<double>(text_width(text) - static_cast<int>(plain));
    return ems * font.size;
}

std::string shortened_to(std::string_view text, double pixels, SvgFont font) {
    std::string best{text};
    for (int columns = text_width(text); columns > 4 && text_pixels(best, font) > pixels;) {
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
