/// Marks of events, saves and steps without a finite loss, as SVG elements.
#pragma once

#include <cstddef>
#include <string>

#include "plot/history.hpp"

namespace ziggurat::plot {

/// Returns the symbol of a mark with its middle at (x, y).
///
/// \param has_run_colour  drawn in the colour of run `run`; else in the colour of its kind
std::string mark_symbol(MarkKind kind, bool has_run_colour, std::size_t run, double x, double y);

/// Returns the line of a mark across a panel; empty for a spike.
std::string mark_line(
    MarkKind kind, bool has_run_colour, std::size_t run, double x, double top, double height);

/// Returns the triangle of a complete save, on the edge at y.
std::string save_symbol(std::size_t colour, double x, double y);

/// Returns the triangle of a step without a finite loss, hanging from y.
std::string alarm_symbol(double x, double y);

/// Returns the triangle of a point above the axis, pointing up to y.
std::string peak_symbol(std::size_t colour, double x, double y);

}  // namespace ziggurat::plot
