#include "plot/canvas.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <string_view>

namespace ziggurat::plot {
namespace {

/// Bits of the dots of a braille character, row by row.
/// Source: Unicode 15, section 21.1
constexpr std::array<std::uint8_t, 8> dot_bits{0x01, 0x08, 0x02, 0x10, 0x04, 0x20, 0x40, 0x80};

/// Returns U+2800 plus the dots, as UTF-8.
std::string braille(std::uint8_t dots) {
    const unsigned code = 0x2800U + dots;
    return {static_cast<char>(0xe0U | code >> 12U), static_cast<char>(0x80U | (code >> 6U & 0x3fU)),
            static_cast<char>(0x80U | (code & 0x3fU))};
}

}  // namespace

Canvas::Canvas(int columns, int rows, bool has_unicode, bool has_marks)
    : columns_{columns},
      rows_{rows},
      across_{has_unicode && !has_marks ? 2 : 1},
      down_{has_unicode && !has_marks ? 4 : 1},
      has_unicode_{has_unicode},
      has_marks_{has_marks},
      cells_(columns * rows) {}

void Canvas::dot(int x, int y, std::size_t owner) {
    if (x < 0 || y < 0 || x >= dots_across() || y >= dots_down()) {
        return;
    }
    auto& cell = cells_[y / down_ * columns_ + x / across_];
    const auto bit = across_ == 2 ? static_cast<std::size_t>(y % down_ * 2 + x % across_) : 0;
    cell.dots = static_cast<std::uint8_t>(cell.dots | dot_bits[bit]);
    cell.owner = owner;
}

void Canvas::line(int x0, int y0, int x1, int y1, std::size_t owner) {
    const int steps = std::max(std::abs(x1 - x0), std::abs(y1 - y0));
    for (int i = 0; i <= steps; ++i) {
        const double share = steps == 0 ? 0 : static_cast<double>(i) / steps;
        dot(x0 + static_cast<int>(std::lround(share * (x1 - x0))),
            y0 + static_cast<int>(std::lround(share * (y1 - y0))), owner);
    }
}

void Canvas::mark(int x, int y, std::size_t owner, const char* utf8, char ascii) {
    if (x < 0 || y < 0 || x >= dots_across() || y >= dots_down()) {
        return;
    }
    auto& cell = cells_[y / down_ * columns_ + x / across_];
    cell.mark = utf8;
    cell.ascii_mark = ascii;
    cell.owner = owner;
}

std::string Canvas::row(int row, bool has_colours) const {
    std::string text;
    for (int column = 0; column < columns_; ++column) {
        const auto& cell = cells_[row * columns_ + column];
        const bool is_empty = cell.dots == 0 && cell.mark == nullptr;
        if (is_empty) {
            text += ' ';
            continue;
        }
        text += has_colours ? colour_of(cell.owner) : "";
        if (cell.mark != nullptr) {
            text += has_unicode_ ? std::string{cell.mark} : std::string(1, cell.ascii_mark);
        } else {
            text +=
                across_ == 2 ? braille(cell.dots) : std::string(1, has_marks_ ? mark_of(cell.owner) : '*');
        }
        text += has_colours ? "\x1b[0m" : "";
    }
    return text;
}

char Canvas::mark_of(std::size_t owner) {
    constexpr std::string_view marks = "*+x#@%&=";
    return marks[owner % marks.size()];
}

std::string Canvas::colour_of(std::size_t owner) {
    constexpr std::array<const char*, 7> colours{"36", "33", "32", "35", "34", "31", "37"};
    return std::string{"\x1b["} + colours[owner % colours.size()] + "m";
}

}  // namespace ziggurat::plot
