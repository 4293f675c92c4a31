/// A figure as text for a terminal.
#pragma once

#include <string>

#include "plot/figure.hpp"

namespace ziggurat::plot {

struct TerminalStyle {
    int columns = 80;          ///< minimum 40
    bool has_unicode = true;   ///< braille dots; otherwise one ASCII mark per character
    bool has_colours = false;  ///< colours distinguish runs; otherwise marks
};

/// Returns the dots across a terminal of `style.columns`: the useful maximum of points per line.
std::int64_t points_across(const TerminalStyle& style);

/// Draws panels below each other, with lines of at most `style.columns`. Pure.
///
/// If several lines share a panel and there are no colours, each line has a mark of its own.
std::string terminal_text(const Figure& figure, const TerminalStyle& style);

}  // namespace ziggurat::plot
