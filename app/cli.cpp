#include "app/cli.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>

#include "app/command_table.hpp"
#include "app/version.hpp"
#include "base/error.hpp"
#include "base/message.hpp"
#include "base/printable.hpp"
#include "deck/messages/nearest.hpp"
#include "deck/messages/peer_names.hpp"

namespace ziggurat::app {
namespace {

using Words = std::vector<std::string>;

/// Error of a command line, and the command whose help describes it; empty: the program's help.
struct Refusal {
    std::string problem;
    std::string command;
};

struct HelpAsked {};

bool is_help(const std::string& word) {
    return word == "--help" || word == "-h";
}

bool is_option(const std::string& word) {
    return word.size() > 1 && word.front() == '-';
}

std::string suggestion(const std::string& word, const Words& known) {
    const bool lacks_dashes = std::find(known.begin(), known.end(), "--" + word) != known.end();
    const std::string nearest =
        lacks_dashes ? "--" + word : deck::nearest(word, {known.begin(), known.end()});
    return nearest.empty() ? "" : " Did you mean '" + nearest + "'?";
}

/// Returns a hint for a deck key that was written as an option, or for an option of another program.
///
/// \param next  the following argument, which may be the value; nullptr for the last argument
std::string key_meant(const std::string& name, const std::string& word, const std::string* next) {
    const auto key = name.substr(std::min(name.find_first_not_of('-'), name.size()));
    if (key.find('.') != std::string::npos) {
        const auto override = word.substr(word.find(key));
        const bool has_value = next != nullptr && !next->starts_with('-') && next->find('=') == next->npos;
        return fmt::format(" Write keys of the deck without dashes: {}{}.", override,
                           override != key ? "" : "=" + (has_value ? *next : std::string{"VALUE"}));
    }
    const auto* peer = deck::find_peer_name(name);
    return peer == nullptr ? "" : " " + describe(*peer);
}

Done print(const std::string& text) {
    std::fputs(text.c_str(), stdout);
    return {0};
}

Done refuse(const Refusal& refusal) {
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

/// Removes the two words of a command from `words` and returns its row.
const CommandRow& take_command_below(const std::vector<const CommandRow*>& rows, Words& words) {
    Words known;
    for (const auto* row : rows) {
        known.push_back(row->name.substr(row->name.find(' ') + 1));
        if (words.size() > 1 && words[1] == known.back()) {
            words.erase(words.begin(), words.begin() + 2);
            return *row;
        }
    }
    const auto all = fmt::format("{}", fmt::join(known, " or "));
    throw Refusal{words.size() < 2
                      ? "'" + words[0] + "' needs a second word: " + all + "."
                      : "'" + words[0] + "' does not measure '" + words[1] + "'. Use " + all + ".",
                  words[0]};
}

/// Removes the one or two words of a command from `words` and returns its row.
const CommandRow& take_command(Words& words) {
    const std::string first = words.front();
    if (const auto rows = commands_below(first); !rows.empty()) {
        return take_command_below(rows, words);
    }
    Words known{"--help", "--version"};
    for (const auto& row : commands()) {
        known.push_back(row.name.substr(0, row.name.find(' ')));
        if (first == known.back()) {
            words.erase(words.begin());
            return row;
        }
    }
    for (const auto& row : commands()) {
        for (const auto& option : row.options) {
            if (first.substr(0, first.find('=')) == option.name) {
                throw Refusal{"'" + option.name +
                                  "' is before the command. Give the command first: 'ziggurat " +
                                  row.name + " ... " + option.name + "'.",
                              row.name};
            }
        }
    }
    throw Refusal{"there is no " + std::string{is_option(first) ? "option" : "command"} + " '" + first +
                      "'." + suggestion(first, known),
                  ""};
}

/// Parses the arguments of a command by its row.
class LineReader {
  public:
    LineReader(const CommandRow& row, Arguments& arguments) : row_{row}, arguments_{arguments} {}

    /// Errors: Refusal; HelpAsked if the help is requested
    void read(const Words& words) {
        for (std::size_t i = 0; i < words.size(); ++i) {
            if (is_help(words[i])) {
                throw HelpAsked{};
            }
            if (is_option(words[i])) {
                i += read_option(words[i], i + 1 < words.size() ? &words[i + 1] : nullptr);
            } else {
                read_positional(words[i]);
            }
        }
        if (const std::string problem = row_.problem(arguments_, given_); !problem.empty()) {
            throw refusal(problem);
        }
    }

  private:
    Refusal refusal(const std::string& problem) const { return {problem, row_.name}; }

    const OptionRow& option_called(const std::string& word, const std::string* next) const {
        const auto name = word.substr(0, word.find('='));
        Words known;
        for (const auto& option : row_.options) {
            if (option.name == name) {
                return option;
            }
            known.push_back(option.name);
        }
        const auto meant = suggestion(name, known);
        throw refusal("'" + row_.name + "' has no option '" + name + "'." +
                      (meant.empty() ? key_meant(name, word, next) : meant));
    }

    /// Parses an option and returns the number of following arguments that belong to it (0 or 1).
    std::size_t read_option(const std::string& word, const std::string* next) {
        const auto equals = word.find('=');
        const auto& option = option_called(word, next);
        if (!given_.options.insert(option.name).second) {
            throw refusal("'" + option.name + "' is given twice. Give it once.");
        }
        const bool is_joined = equals != std::string::npos;
        if (option.value.empty()) {
            if (is_joined) {
                throw refusal("'" + option.name + "' takes no value. Leave out '" + word.substr(equals) +
                              "'.");
            }
            option.take(arguments_, "");
            return 0;
        }
        const bool is_missing = !is_joined && (next == nullptr || next->starts_with("--"));
        if (is_missing) {
            throw refusal("'" + option.name + "' has no value. Give it " + option.takes + ".");
        }
        const std::string value = is_joined ? word.substr(equals + 1) : *next;
        if (!option.take(arguments_, value)) {
            throw refusal("'" + option.name + "' takes " + option.takes + ", not '" + value + "'.");
        }
        return is_joined ? 0 : 1;
    }

    void read_positional(const std::string& word) {
        const auto& rows = row_.positionals;
        const std::size_t at = given_.positionals++;
        if (at < rows.size() || (!rows.empty() && rows.back().is_list())) {
            return rows[std::min(at, rows.size() - 1)].take(arguments_, word);
        }
        throw refusal("'" + word + "' is one argument too many. Quote a text with spaces.");
    }

    const CommandRow& row_;
    Arguments& arguments_;
    Given given_;
};

std::variant<Arguments, Done> parse(Words words, Arguments arguments) {
    if (words.empty()) {
        std::fputs(help_of_program().c_str(), stderr);
        return Done{static_cast<int>(ErrorKind::deck)};
    }
    if (is_help(words.front()) || words.front() == "--version") {
        if (words.size() > 1) {
            throw Refusal{"'" + words.front() + "' takes no arguments, but '" + words[1] + "' was given.",
                          ""};
        }
        return print(is_help(words.front()) ? help_of_program()
                                            : "ziggurat " + version() + "\n" + library_versions() + "\n");
    }
    if (const auto rows = commands_below(words.front());
        !rows.empty() && words.size() == 2 && is_help(words[1])) {
        std::string text;
        for (const auto* row : rows) {
            text += (text.empty() ? "" : "\n") + help_of(*row);
        }
        return print(text);
    }
    const CommandRow& row = take_command(words);
    arguments.command = row.command;
    try {
        LineReader{row, arguments}.read(words);
    } catch (const HelpAsked&) {
        return print(help_of(row));
    }
    return arguments;
}

}  // namespace

std::variant<Arguments, Done> parse_command_line(int argc, char** argv) {
    Arguments arguments;
    arguments.line = "ziggurat";
    Words words;
    for (int i = 1; i < argc; ++i) {
        words.emplace_back(argv[i]);
        arguments.line += " " + printable(words.back());
    }
    try {
        return parse(std::move(words), std::move(arguments));
    } catch (const Refusal& refusal) {
        return refuse(refusal);
    }
}

}  // namespace ziggurat::app
