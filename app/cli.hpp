/// The command line: what is asked, as plain data.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace ziggurat::app {

enum class Command { check, train, plan };

/// What one call of the program asks for. A field that its command does not have keeps its default.
struct Arguments {
    Command command = Command::check;
    std::string deck;                    ///< path; may be empty for `check --explain`
    std::vector<std::string> overrides;  ///< `path.to.key=value`
    std::optional<int> ranks;            ///< check, plan: as if on so many ranks
    std::string machine;                 ///< check, plan: name or file; empty: this machine
    bool print = false;                  ///< check: the effective deck on stdout
    std::string explain;                 ///< check: a key to explain
    bool program = false;                ///< plan: the step program
    int rank = 0;                        ///< plan: whose program
    bool json = false;                   ///< plan: for programs to read
    std::string variant = "train";       ///< plan: which variant of the program
    std::string line;                    ///< the whole command, for the banner
};

/// Where there is nothing to run: help or version was printed, or the line was wrong and the reason was
/// printed.
struct Done {
    int exit_code = 0;
};

std::variant<Arguments, Done> parse_command_line(int argc, char** argv);

}  // namespace ziggurat::app
