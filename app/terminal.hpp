/// Terminal, as the environment describes it.
#pragma once

#include "base/progress.hpp"
#include "plot/terminal.hpp"
#include "train/report/screen.hpp"

namespace ziggurat::app {

/// What may be sent to a terminal: nothing but lines where TERM names none, or a dumb one; no colours where
/// NO_COLOR is set.
train::Escapes terminal_escapes();

/// Whether text is UTF-8, by LC_ALL, LC_CTYPE and LANG.
bool has_utf8_locale();

/// Shows a line that moves at the bottom of the terminal that messages go to; behind a launcher, which takes
/// those through a pipe, of that of standard output. Empty where there is none.
///
/// \param is_first  of all ranks; the others show nothing
ProgressLine::Show show_progress(bool is_first = true);

/// Where the standard output of a rank, or of a command without ranks, is shown.
train::Screen screen_of_output();

/// Drawings there: as wide as it is, or usual_columns in a pipe or a file.
inline constexpr int usual_columns = 80;
plot::TerminalStyle style_of_output();

}  // namespace ziggurat::app
