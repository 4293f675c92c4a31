/// Properties of the terminal, from the environment.
#pragma once

#include "base/progress.hpp"
#include "plot/terminal.hpp"
#include "train/console/screen.hpp"

namespace ziggurat::app {

/// Returns the escape sequences that the terminal supports.
///
/// None if TERM is not set or `dumb`; no colours if NO_COLOR is set.
train::Escapes terminal_escapes();

/// Returns true if the locale (LC_ALL, LC_CTYPE, LANG) is UTF-8.
bool has_utf8_locale();

/// Returns a function that shows a progress line at the bottom of the terminal.
///
/// Empty without a terminal.
///
/// Uses standard error; under a launcher, which forwards standard error through a pipe, standard output.
///
/// \param is_first  true on rank 0; other ranks show nothing
ProgressLine::Show show_progress(bool is_first = true);

/// Returns the screen that shows standard output, with or without a launcher.
train::Screen screen_of_output();

/// Width of drawings in a pipe or a file; on a terminal, style_of_output() uses its width.
inline constexpr int usual_columns = 80;
plot::TerminalStyle style_of_output();

}  // namespace ziggurat::app
