/// Shared parts of the commands that show the metrics of runs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "app/runs/plot_options.hpp"
#include "plot/figure.hpp"
#include "plot/history.hpp"

namespace ziggurat::app {

/// Reads the metrics of runs; prints a warning about lines that are not events of a run.
/// Errors: those of plot::read_history
std::vector<plot::History> read_histories(const std::vector<std::string>& runs);

/// Adds an end to a history whose job died without recording one, if no job runs in its folder.
///
/// Only in memory, not in the file: the metrics may be a copy of a run that continues in another folder.
void add_lost_end(plot::History& history);

/// Returns the style for --axis, --from, --to, --smooth and --log.
///
/// The caller sets the number of points.
///
/// Errors: Error{deck} if --from or --to is not a position on the axis, or no run has a step between them
plot::FigureStyle figure_style(const CurveOptions& options, const std::vector<plot::History>& histories);

/// Returns `given`; if it is empty, the path of `name` in the folder of the first run's metrics.
std::string drawing_of(const std::vector<plot::History>& histories,
                       const std::string& given,
                       const char* name);

/// Writes a drawing atomically, and prints a summary of its contents.
///
/// Viewers never see a partial file.
///
/// \param remedy  advice for the user if it cannot be written
/// Errors: Error{resource}
void write_drawing(const std::string& path,
                   const std::string& text,
                   const std::vector<plot::History>& histories,
                   const char* remedy = "Name a file that can be written: --out FILE.");

}  // namespace ziggurat::app
