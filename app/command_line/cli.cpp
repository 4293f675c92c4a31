#include "app/command_line/cli.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <utility>

#include "app/command_line/command_table.hpp"
#include "app/command_line/version.hpp"
#include "base/error.hpp"
#include "base/text/message.hpp"
#include "base/text/printable.hpp"
#include "deck/messages/nearest.hpp"
#include "deck/messages/peer_names.hpp"

namespace ziggurat::app {
namespace {

using Texts = std::vector<std::string>;

/// Error of a command line, and the command whose help describes it; empty: the program's help.
struct UsageError {
    std::string problem;
    std::string command;
};

struct HelpAsked {};

bool is_help(const std::string& value) {
    return value == "--help" || value == "-h";
}

bool is_option(const std::string& value) {
    return value.size() > 1 && value.front() == '-';
}

std::string suggestion(const std::string& value, const Texts& known) {
    const bool lacks_dashes = std::find(known.begin(), known.end(), "--" + value) != known.end();
    const std::string nearest =
        lacks_dashes ? "--" + value : deck::nearest(value, {known.begin(), known.end()});
    return nearest.empty() ? "" : " Did you mean '" + nearest + "'?";
}

/// Returns a hint for a deck key that was written as an option, or for an option of another program.
///
/// \param next  the following argument, which may be the value; nullptr for the last argument
std::string key_meant(const std::string& name, const std::string& value, const std::string* next) {
    const auto key = name.substr(std::min(name.find_first_not_of('-'), name.size()));
    if (key.find('.') != std::string::npos) {
        const auto override = value.substr(value.find(key));
        const bool has_value = next != nullptr && !next->starts_with('-') && next->find('=') == next->npos;
        return fmt::format(" Write keys of the deck without dashes: {}{}.", override,
                           override != key ? "" : "=" + (has_value ? *next : std::string{"VALUE"}));
    }
    const auto* peer = deck::find_peer_name(name);
    return peer == nullptr ? "" : " " + describe(*peer);
}

EarlyExit print(const std::string& text) {
    std::fputs(text.c_str(), stdout);
    return {0};
}

EarlyExit refuse(const UsageError& refusal) {
    const std::string help = (refusal.command.empty() ? "" : " " + refusal.command) + " --help";
    const std::string line =
        message(Severity::error, printable(refusal.problem) + " See 'ziggurat" + help + "'.");
    std::fputs((line + "\n").c_str(), stderr);
    return {static_cast<int>(ErrorKind::deck)};
}

/// Returns the commands of two words that begin with `first` (`bench`); empty for any other word.
std::vector<const CommandRow*> commands_below(const std::string& first) {
    std::vector<const CommandRow*> rows;
    for (const auto& row : commands()) {
        if (row.name.starts_with(first + " ")) {
            rows.push_back(&row);
        }
    }
    return rows;
}

/// Removes the two words of a command from `values` and returns its row.
const CommandRow& take_command_below(const std::vector<const CommandRow*>& rows, Texts& values) {
    Texts known;
    for (const auto* row : rows) {
        known.push_back(row->name.substr(row->name.find(' ') + 1));
        if (values.size() > 1 && values[1] == known.back()) {
            values.erase(values.begin(), values.begin() + 2);
            return *row;
        }
    }
    const auto last = known.back();
    known.pop_back();
    const auto all = known.empty() ? last : fmt::format("{} or {}", fmt::join(known, ", "), last);
    throw UsageError{values.size() < 2
                         ? "'" + values[0] + "' needs a second word: " + all + "."
                         : "'" + values[0] + "' does not measure '" + values[1] + "'. Use " + all + ".",
                     values[0]};
}

/// Removes the one or two words of a command from `values` and returns its row.
const CommandRow& take_command(Texts& values) {
    const std::string first = values.front();
    if (const auto rows = commands_below(first); !rows.empty()) {
        return take_command_below(rows, values);
    }
    Texts known{"--help", "--version"};
    for (const auto& row : commands()) {
        known.push_back(row.name.substr(0, row.name.find(' ')));
        if (first == known.back()) {
            values.erase(values.begin());
            return row;
        }
    }
    for (const auto& row : commands()) {
        for (const auto& option : row.options) {
            if (first.substr(0, first.find('=')) == option.name) {
                throw UsageError{"'" + option.name +
                                     "' is before the command. Give the command first: 'ziggurat " +
                                     row.name + " ... " + option.name + "'.",
                                 row.name};
            }
        }
    }
    throw UsageError{"there is no " + std::string{is_option(first) ? "option" : "command"} + " '" + first +
                         "'." + suggestion(first, known),
                     ""};
}

/// Parses the arguments of a command by its row.
class LineReader {
  public:
    LineReader(const CommandRow& row, Options& options) : row_{row}, options_{options} {}

    /// Errors: Refusal; HelpAsked if the help is requested
    void read(const Texts& values) {
        for (std::size_t i = 0; i < values.size(); ++i) {
            if (is_help(values[i])) {
                throw HelpAsked{};
            }
            if (is_option(values[i])) {
                i += read_option(values[i], i + 1 < values.size() ? &values[i + 1] : nullptr);
            } else {
                read_positional(values[i]);
            }
        }
        if (const std::string problem = row_.problem(options_, given_); !problem.empty()) {
            throw refusal(problem);
        }
    }

  private:
    UsageError refusal(const std::string& problem) const { return {problem, row_.name}; }

    const OptionRow& option_called(const std::string& value, const std::string* next) const {
        const auto name = value.substr(0, value.find('='));
        Texts known;
        for (const auto& option : row_.options) {
            if (option.name == name) {
                return option;
            }
            known.push_back(option.name);
        }
        const auto meant = suggestion(name, known);
        throw refusal("'" + row_.name + "' has no option '" + name + "'." +
                      (meant.empty() ? key_meant(name, value, next) : meant));
    }

    /// Parses an option and returns the number of following arguments that belong to it (0 or 1).
    std::size_t read_option(const std::string& given, const std::string* next) {
        const auto equals = given.find('=');
        const auto& option = option_called(given, next);
        if (!given_.options.insert(option.name).second) {
            throw refusal("'" + option.name + "' is given twice. Give it once.");
        }
        const bool is_joined = equals != std::string::npos;
        if (option.value.empty()) {
            if (is_joined) {
                throw refusal("'" + option.name + "' takes no value. Leave out '" + given.substr(equals) +
                              "'.");
            }
            option.take(options_, "");
            return 0;
        }
        const bool is_missing = !is_joined && (next == nullptr || next->starts_with("--"));
        if (is_missing) {
            throw refusal("'" + option.name + "' has no value. Give it " + option.takes + ".");
        }
        const std::string value = is_joined ? given.substr(equals + 1) : *next;
        if (!option.take(options_, value)) {
            throw refusal("'" + option.name + "' takes " + option.takes + ", not '" + value + "'.");
        }
        return is_joined ? 0 : 1;
    }

    void read_positional(const std::string& value) {
        const auto& rows = row_.positionals;
        const std::size_t at = given_.positionals++;
        if (at < rows.size() || (!rows.empty() && rows.back().is_list())) {
            return rows[std::min(at, rows.size() - 1)].take(options_, value);
        }
        throw refusal("'" + value + "' is one argument too many. Quote a text with spaces.");
    }

    const CommandRow& row_;
    Options& options_;
    GivenOptions given_;
};

/// Parses the words after the program's name.
///
/// \param line  the full command line, for the banner
std::variant<ParsedCommand, EarlyExit> parse(Texts values, std::string line) {
    if (values.empty()) {
        std::fputs(help_of_program().c_str(), stderr);
        return EarlyExit{static_cast<int>(ErrorKind::deck)};
    }
    if (is_help(values.front()) || values.front() == "--version") {
        if (values.size() > 1) {
            throw UsageError{
                "'" + values.front() + "' takes no arguments, but '" + values[1] + "' was given.", ""};
        }
        return print(is_help(values.front()) ? help_of_program()
                                             : "ziggurat " + version() + "\n" + library_versions() + "\n");
    }
    if (const auto rows = commands_below(values.front());
        !rows.empty() && values.size() == 2 && is_help(values[1])) {
        std::string text;
        for (const auto* row : rows) {
            text += (text.empty() ? "" : "\n") + help_of(*row);
        }
        return print(text);
    }
    const CommandRow& row = take_command(values);
    ParsedCommand parsed{static_cast<std::size_t>(&row - commands().data()), row.make()};
    parsed.options->line = std::move(line);
    try {
        LineReader{row, *parsed.options}.read(values);
    } catch (const HelpAsked&) {
        return print(help_of(row));
    }
    return parsed;
}

}  // namespace

std::variant<ParsedCommand, EarlyExit> parse_command_line(int argc, char** argv) {
    std::string line = "ziggurat";
    Texts values;
    for (int i = 1; i < argc; ++i) {
        values.emplace_back(argv[i]);
        line += " " + printable(values.back());
    }
    try {
        return parse(std::move(values), std::move(line));
    } catch (const UsageError& refusal) {
        return refuse(refusal);
    }
}

}  // namespace ziggurat::app
