/// Row of a command in the table: its arguments and options, with the texts of help and errors.
#pragma once

#include <concepts>
#include <cstddef>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace ziggurat::app {

/// Options of a command. Each command derives a struct with its own fields.
struct Options {
    virtual ~Options() = default;

    std::string line;  ///< the full command line, for the banner
};

/// Option of a command. `O` is the struct whose field it sets.
template <class O>
struct OptionRowOf {
    std::string name;   ///< `--ranks`
    std::string value;  ///< placeholder of its value in the help: `N`; empty: it takes no value
    std::string takes;  ///< description of valid values: `a whole number from 1 to 1000000`
    std::string doc;
    /// Stores a value; returns false if it is invalid. A flag gets an empty text.
    std::function<bool(O&, const std::string&)> take;

    /// Converts to a row of a command whose options derive from `O`.
    template <std::derived_from<O> Derived>
    operator OptionRowOf<Derived>() const {
        return {name, value, takes, doc, take};
    }
};

/// Positional argument of a command. `O` is the struct whose field it sets.
template <class O>
struct PositionalRowOf {
    std::string name;  ///< `DECK`, or `PATH...` if it can be repeated
    std::string doc;
    std::function<void(O&, const std::string&)> take;

    bool is_list() const { return name.ends_with("..."); }

    /// Converts to a row of a command whose options derive from `O`.
    template <std::derived_from<O> Derived>
    operator PositionalRowOf<Derived>() const {
        return {name, doc, take};
    }
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

/// Command whose options are an `O`.
template <class O>
struct CommandRowOf {
    std::string name;  ///< one or two words
    std::string doc;
    bool computes = false;       ///< true if it runs a model: main() chooses how idle threads wait
    bool has_short_ops = false;  ///< true if most ops take microseconds
    std::vector<PositionalRowOf<O>> positionals = {};
    std::vector<OptionRowOf<O>> options = {};
    std::vector<Example> examples = {};
    /// Returns an error about the combination of arguments; empty if they are valid.
    std::function<std::string(const O&, const GivenOptions&)> problem = [](const O&, const GivenOptions&) {
        return std::string{};
    };
    /// Returns options with their default values.
    std::function<std::unique_ptr<Options>()> make = [] { return std::make_unique<O>(); };
};

/// Rows of any command. Their functions take only options that `make` of the same row has returned.
using OptionRow = OptionRowOf<Options>;
using PositionalRow = PositionalRowOf<Options>;
using CommandRow = CommandRowOf<Options>;

/// Returns `row` without the type of its options.
template <std::derived_from<Options> O>
CommandRow of_any_options(const CommandRowOf<O>& row) {
    CommandRow made{.name = row.name,
                    .doc = row.doc,
                    .computes = row.computes,
                    .has_short_ops = row.has_short_ops,
                    .examples = row.examples};
    for (const auto& positional : row.positionals) {
        made.positionals.push_back({positional.name, positional.doc,
                                    [take = positional.take](Options& options, const std::string& text) {
                                        take(static_cast<O&>(options), text);
                                    }});
    }
    for (const auto& option : row.options) {
        made.options.push_back({option.name, option.value, option.takes, option.doc,
                                [take = option.take](Options& options, const std::string& text) {
                                    return take(static_cast<O&>(options), text);
                                }});
    }
    made.problem = [problem = row.problem](const Options& options, const GivenOptions& given) {
        return problem(static_cast<const O&>(options), given);
    };
    made.make = row.make;
    return made;
}

}  // namespace ziggurat::app
