#include "app/sweep/sweep_grid.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <string_view>

#include "base/error.hpp"
#include "base/text/printable.hpp"

namespace ziggurat::app {
namespace {

/// Maximum length of a value in the name of a run.
constexpr std::size_t max_named = 40;
constexpr std::string_view plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.+-";

[[noreturn]] void refuse(const std::string& word, const std::string& problem, const std::string& remedy) {
    throw Error{ErrorKind::deck, fmt::format("'{}' {}. {}", printable(word), problem, remedy)};
}

std::string without_spaces_around(std::string_view text) {
    const auto begin = text.find_first_not_of(' ');
    return begin == text.npos ? "" : std::string{text.substr(begin, text.find_last_not_of(' ') - begin + 1)};
}

/// Splits at the commas outside of brackets, braces and quotes.
std::vector<std::string> values_of(const std::string& word, std::string_view text) {
    std::vector<std::string> values;
    int depth = 0;
    char quote = 0;
    std::size_t begin = 0;
    for (std::size_t at = 0; at < text.size(); ++at) {
        const char c = text[at];
        if (quote != 0) {
            quote = c == quote ? char{0} : quote;
        } else if (c == '"' || c == '\'') {
            quote = c;
        } else if (c == '[' || c == '{') {
            ++depth;
        } else if (c == ']' || c == '}') {
            --depth;
        } else if (c == ',' && depth == 0) {
            values.push_back(without_spaces_around(text.substr(begin, at - begin)));
            begin = at + 1;
        }
    }
    if (depth != 0 || quote != 0) {
        refuse(word, "has a bracket, brace or quote without its counterpart", "Complete it.");
    }
    values.push_back(without_spaces_around(text.substr(begin)));
    return values;
}

std::string last_part(const std::string& key) {
    return key.substr(key.rfind('.') + 1);
}

/// Returns the name of each axis in names of runs: the last part of its key, if no other has that.
std::vector<std::string> names_of(const std::vector<SweepAxis>& axes) {
    std::vector<std::string> names;
    for (const auto& axis : axes) {
        const auto part = last_part(axis.key);
        const auto same =
            std::ranges::count_if(axes, [&](const SweepAxis& other) { return last_part(other.key) == part; });
        names.push_back(same == 1 ? part : axis.key);
    }
    return names;
}

/// Returns the 32-bit FNV-1a hash.
std::uint32_t hash_of(std::string_view text) {
    std::uint32_t hash = 2166136261U;
    for (const char c : text) {
        hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
    }
    return hash;
}

/// Returns the value as a part of a file name, always the same for a value.
///
/// A value with other characters, or a long one, also gets its hash.
std::string value_name(const std::string& value) {
    std::string made;
    for (const char c : value) {
        made += plain.find(c) == plain.npos ? '_' : c;
    }
    made = made.substr(0, max_named);
    return made == value ? made : fmt::format("{}-{:08x}", made, hash_of(value));
}

void expect_distinct(const std::string& word, const std::vector<std::string>& values) {
    for (std::size_t i = 0; i < values.size(); ++i) {
        if (values[i].empty()) {
            refuse(word, "has an empty value", "Remove a comma, or write \"\" for an empty text.");
        }
        if (std::find(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(i), values[i]) !=
            values.begin() + static_cast<std::ptrdiff_t>(i)) {
            refuse(word, fmt::format("has the value {} twice", printable(values[i])), "Remove one.");
        }
    }
}

void add_word(SweepGrid& grid, std::set<std::string>& keys, const std::string& word) {
    const auto equals = word.find('=');
    const auto key = word.substr(0, equals);
    if (equals == word.npos || key.empty()) {
        refuse(word, "is not of the form KEY=VALUE", "Write, for instance, optimizer.lr=1e-4,3e-4.");
    }
    if (!keys.insert(key).second) {
        refuse(word, "sets a key for the second time", "Give all its values at once, with commas.");
    }
    if (key == "run.dir" || key == "run.name" || key == "run.resume") {
        refuse(word, "sets a key that the sweep sets itself",
               "Leave it out; --folder is the folder of all runs.");
    }
    const auto values = values_of(word, std::string_view{word}.substr(equals + 1));
    if (values.size() == 1) {
        grid.fixed.push_back(word);
        return;
    }
    expect_distinct(word, values);
    grid.axes.push_back({key, values});
}

}  // namespace

std::vector<std::string> SweepGrid::overrides_of(const SweepRun& run) const {
    auto overrides = fixed;
    for (std::size_t i = 0; i < axes.size(); ++i) {
        overrides.push_back(axes[i].key + "=" + run.values[i]);
    }
    return overrides;
}

SweepGrid sweep_grid(const std::vector<std::string>& words) {
    SweepGrid grid;
    std::set<std::string> keys;
    for (const auto& word : words) {
        add_word(grid, keys, word);
    }
    if (grid.axes.empty()) {
        throw Error{ErrorKind::deck,
                    "a sweep needs a key with several values. Separate them with commas: "
                    "optimizer.lr=1e-4,3e-4,1e-3."};
    }
    const auto names = names_of(grid.axes);
    grid.runs = {{"", {}}};
    for (std::size_t a = 0; a < grid.axes.size(); ++a) {
        const auto& axis = grid.axes[a];
        if (grid.runs.size() * axis.values.size() > max_sweep_runs) {
            throw Error{ErrorKind::deck,
                        fmt::format("the sweep has more than {} runs. Give fewer values.", max_sweep_runs)};
        }
        std::vector<SweepRun> longer;
        for (const auto& run : grid.runs) {
            for (const auto& value : axis.values) {
                auto made = run;
                made.name += (made.name.empty() ? "" : "_") + names[a] + "=" + value_name(value);
                made.values.push_back(value);
                longer.push_back(std::move(made));
            }
        }
        grid.runs = std::move(longer);
    }
    return grid;
}

}  // namespace ziggurat::app
