/// Texts that are installed with the program, generated from the same tables as its help.
#pragma once

#include <string>

namespace ziggurat::app {

/// Returns the manual page ziggurat(1), in man macros.
std::string man_page();

/// Returns the completion for bash: commands, options, deck keys and their values, machines, files.
std::string bash_completion();

}  // namespace ziggurat::app
