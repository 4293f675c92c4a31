/// Parser of the command line.
#pragma once

#include <cstddef>
#include <memory>
#include <variant>

#include "app/command_line/command_row.hpp"

namespace ziggurat::app {

/// Command that is to run.
struct ParsedCommand {
    std::size_t index = 0;             ///< index in commands()
    std::unique_ptr<Options> options;  ///< made by the row of the command
};

/// Result if no command is to run: help, version or an error of the command line was printed.
struct EarlyExit {
    int exit_code = 0;
};

std::variant<ParsedCommand, EarlyExit> parse_command_line(int argc, char** argv);

}  // namespace ziggurat::app
