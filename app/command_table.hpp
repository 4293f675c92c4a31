/// The commands of the program as one table: what each takes, in the words of its help and its complaints.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "app/cli.hpp"

namespace ziggurat::app {

/// An option of a command.
struct OptionRow {
    std::string name;   ///< `--ranks`
    std::string value;  ///< how help calls its value: `N`; empty: it takes none
    std::string takes;  ///< what is a value: `a whole number from 1 to 1000000`
    std::string doc;
    /// Keeps a value; false: it is none. A flag gets an empty text.
    std::function<bool(Arguments&, const std::string&)> take;
};

/// What stands on the line without a name.
struct PositionalRow {
    std::string name;  ///< `DECK`, or `PATH...` where there may be several
    std::string doc;
    std::function<void(Arguments&, const std::string&)> take;

    bool is_list() const { return name.ends_with("..."); }
};

struct Example {
    std::string line;
    std::string doc;
};

/// The names of the options that a line has, and how many words without a name.
struct Given {
    std::set<std::string> options;
    std::size_t positionals = 0;

    bool has(const std::string& option) const { return options.contains(option); }
};

struct CommandRow {
    Command command;
    std::string name;  ///< of one or two words
    std::string doc;
    std::vector<PositionalRow> positionals;
    std::vector<OptionRow> options;
    std::vector<Example> examples;
    /// What is wrong with the whole line; empty: nothing.
    std::function<std::string(const Arguments&, const Given&)> problem;
};

const std::vector<CommandRow>& commands();

/// The rows of the commands that read decks, checkpoints, texts, metrics and disks.
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

/// What the program is, and what runs today: two paragraphs.
std::string introduction();

/// A line of each.
std::string exit_codes();

/// What the program is, what runs today, the commands, the exit codes.
std::string help_of_program();

/// The arguments and options of a command, and examples.
std::string help_of(const CommandRow& row);

}  // namespace ziggurat::app
