/// Rows of all commands, and the help that is made from them.
#pragma once

#include <string>
#include <vector>

#include "app/command_line/command_row.hpp"

namespace ziggurat::app {

/// Returns the rows of AllCommands (app/commands.hpp).
const std::vector<CommandRow>& commands();

/// Returns two paragraphs: what the program is, and what is implemented.
std::string introduction();

/// Returns the exit codes and their meanings.
std::string exit_codes();

/// Returns the help of the program: introduction(), commands, options, examples, exit_codes().
std::string help_of_program();

/// Returns the help of a command: its arguments, options and examples.
std::string help_of(const CommandRow& row);

}  // namespace ziggurat::app
