/// A figure in characters.
#pragma once

#include <string>

#include "plot/figure.hpp"

namespace ziggurat::plot {

struct TerminalStyle {
    int columns = 80;          ///< at least 40 are used
    bool has_unicode = true;   ///< braille dots; otherwise one ASCII mark for each place
    bool has_colours = false;  ///< runs by colour; otherwise by their marks
};

/// Dots across of a terminal with so many columns: points that are worth having in a line.
std::int64_t points_across(const TerminalStyle& style);

/// Panels below each other, no line wider than `style.columns`. Where several lines share a panel and there
/// are no colours, each has a mark of its own. Pure.
std::string terminal_text(const Figure& figure, const TerminalStyle& style);

}  // namespace ziggurat::plot
