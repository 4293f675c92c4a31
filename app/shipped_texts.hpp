/// Texts that are installed beside the program and made of the same tables as its help.
#pragma once

#include <string>

namespace ziggurat::app {

/// The manual page ziggurat(1), in the man macros.
std::string man_page();

/// Completion for bash: commands, options, keys of a deck and their words, machines, files.
std::string bash_completion();

}  // namespace ziggurat::app
