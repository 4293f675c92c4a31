/// What the environment says of the terminal.
#pragma once

#include "train/screen.hpp"

namespace ziggurat::app {

/// Whether a terminal may be written to in colour: NO_COLOR is not set, and TERM names one that can.
bool may_colour();

/// Whether text is UTF-8, by LC_ALL, LC_CTYPE and LANG.
bool has_utf8_locale();

/// Where the standard output of a rank, or of a command without ranks, is shown.
train::Screen screen_of_output();

}  // namespace ziggurat::app
