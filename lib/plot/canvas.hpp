/// A rectangle of characters to draw on.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ziggurat::plot {

/// Dots in a grid, several to a character in braille (2 x 4), one in ASCII. The last that was drawn in a
/// character gives it its colour, or its mark.
class Canvas {
  public:
    Canvas(int columns, int rows, bool has_unicode, bool has_marks);

    int dots_across() const noexcept { return columns_ * across_; }
    int dots_down() const noexcept { return rows_ * down_; }

    /// Dot (0, 0) is the upper left one; others than those of the canvas are passed over.
    void dot(int x, int y, std::size_t owner);
    /// All dots between two.
    void line(int x0, int y0, int x1, int y1, std::size_t owner);
    /// A character by itself, such as that of a validation.
    void mark(int x, int y, std::size_t owner, const char* utf8, char ascii);

    /// One row of characters.
    std::string row(int row, bool has_colours) const;

    /// The mark of a line where there are no colours.
    static char mark_of(std::size_t owner);
    /// The escape sequence of its colour.
    static std::string colour_of(std::size_t owner);

  private:
    struct Cell {
        std::uint8_t dots = 0;
        std::size_t owner = 0;
        const char* mark = nullptr;  ///< in the place of dots
        char ascii_mark = 0;
    };

    int columns_, rows_, across_, down_;
    bool has_unicode_, has_marks_;
    std::vector<Cell> cells_;
};

}  // namespace ziggurat::plot
