/// Parts of the commands that draw what runs have told.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "app/cli.hpp"
#include "plot/figure.hpp"
#include "plot/history.hpp"

namespace ziggurat::app {

/// The metrics of runs that have made a step; lines that are none are told of.
/// Errors: those of plot::read_history
std::vector<plot::History> read_histories(const std::vector<std::string>& runs);

/// Adds the end of a job that the metrics of its run do not tell of, if no job is in its folder. It is no
/// mark: these may be copies of a run that continues elsewhere.
void add_lost_end(plot::History& history);

/// Style of --axis, --from, --to, --smooth and --log. Most points and contents are left to the caller.
///
/// Errors: Error{deck} if --from or --to is no position of the axis, or no run has a step between them
plot::FigureStyle figure_style(const Arguments& arguments, const std::vector<plot::History>& histories);

/// The file beside the metrics of the first run, where `given` is empty.
std::string drawing_of(const std::vector<plot::History>& histories,
                       const std::string& given,
                       const char* name);

/// Writes a drawing, complete or not at all, so that a viewer never sees half of it, and says what is in it.
///
/// \param remedy  what a person does where it cannot be written
/// Errors: Error{resource}
void write_drawing(const std::string& path,
                   const std::string& text,
                   const std::vector<plot::History>& histories,
                   const char* remedy = "Name a file that may be written: --out FILE.");

}  // namespace ziggurat::app
