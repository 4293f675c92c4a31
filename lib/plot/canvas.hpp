/// A rectangle of characters to draw on.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ziggurat::plot {

/// Grid of dots: 2 x 4 dots per character in braille, one in ASCII.
///
/// The last dot drawn in a character determines its colour or its mark.
class Canvas {
  public:
    Canvas(int columns, int rows, bool has_unicode, bool has_marks);

    int dots_across() const noexcept { return columns_ * across_; }
    int dots_down() const noexcept { return rows_ * down_; }

    /// Draws a dot. Dot (0, 0) is the upper left one; dots outside of the canvas are ignored.
    void dot(int x, int y, std::size_t owner);
    /// Draws all dots on the line between two dots.
    void line(int x0, int y0, int x1, int y1, std::size_t owner);
    /// Draws a single character, such as the symbol of a validation.
    void mark(int x, int y, std::size_t owner, const char* utf8, char ascii);

    /// Returns one row of characters.
    std::string row(int row, bool has_colours) const;

    /// Returns the mark that distinguishes a line without colours.
    static char mark_of(std::size_t owner);
    /// Returns the escape sequence of the line's colour.
    static std::string colour_of(std::size_t owner);

  private:
    struct Cell {
        std::uint8_t dots = 0;
        std::size_t owner = 0;
        const char* mark = nullptr;  ///< replaces the dots
        char ascii_mark = 0;
    };

    int columns_, rows_, across_, down_;
    bool has_unicode_, has_marks_;
    std::vector<Cell> cells_;
};

}  // namespace ziggurat::plot
