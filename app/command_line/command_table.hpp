/// Table of the commands: their arguments and options, with the texts of help and errors.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "app/command_line/cli.hpp"

namespace ziggurat::app {

/// Option of a command.
struct OptionRow {
    std::string name;   ///< `--ranks`
    std::string value;  ///< placeholder of its value in the help: `N`; empty: it takes no value
    std::string takes;  ///< description of valid values: `a whole number from 1 to 1000000`
    std::string doc;
    /// Stores a value; returns false if it is invalid. A flag gets an empty text.
    std::function<bool(Arguments&, const std::string&)> take;
};

/// Positional argument of a command.
struct PositionalRow {
    std::string name;  ///< `DECK`, or `PATH...` if it can be repeated
    std::string doc;
    std::function<void(Arguments&, const std::string&)> take;

    bool is_list() const { return name.ends_with("..."); }
};

struct Example {
    std::string line;
    std::string doc;
};

/// Names of the options on a command line, and the number of its positional arguments.
struct GivenOptions {
    std::set<std::string> options;
    std::size_t positionals = 0;

    bool has(const std::string& option) const { return options.contains(option); }
};

struct CommandRow {
    Command command;
    std::string name;  ///< one or two words
    std::string doc;
    std::vector<PositionalRow> positionals;
    std::vector<OptionRow> options;
    std::vector<Example> examples;
    /// Returns an error about the combination of arguments; empty if they are valid.
    std::function<std::string(const Arguments&, const GivenOptions&)> problem;
};

const std::vector<CommandRow>& commands();

/// Return the rows of the commands.
CommandRow check_row();
CommandRow train_row();
CommandRow plan_row();
CommandRow slurm_row();
CommandRow inspect_row();
CommandRow sample_row();
CommandRow eval_row();
CommandRow import_row();
CommandRow export_row();
CommandRow tokenize_row();
CommandRow plot_row();
CommandRow report_row();
CommandRow top_row();
CommandRow doctor_row();
CommandRow bench_io_row();
CommandRow bench_gpu_row();

/// Returns two paragraphs: what the program is, and what is implemented.
std::string introduction();

/// Returns the exit codes and their meanings.
std::string exit_codes();

/// Returns the help of the program: introduction(), commands, options, examples, exit_codes().
std::string help_of_program();

/// Returns the help of a command: its arguments, options and examples.
std::string help_of(const CommandRow& row);

}  // namespace ziggurat::app
