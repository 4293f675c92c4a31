/// Factories of OptionRow for common kinds of values.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/command_table.hpp"

namespace ziggurat::app {

/// Parses all of `text` as a number within bounds (inclusive); empty if it is not one.
template <class T>
std::optional<T> number_in(const std::string& text, T least, T most) {
    T number{};
    const char* end = text.data() + text.size();
    const auto [stop, problem] = std::from_chars(text.data(), end, number);
    const bool is_number = problem == std::errc{} && stop == end && number >= least && number <= most;
    return is_number ? std::optional{number} : std::nullopt;
}

inline OptionRow flag(std::string name, bool Arguments::*field, std::string doc) {
    return {std::move(name), "", "", std::move(doc),
            [field](Arguments& arguments, const std::string&) { return arguments.*field = true; }};
}

/// Option that takes a whole number within bounds (inclusive).
template <class Field, class T>
OptionRow whole(
    std::string name, std::string value, Field Arguments::*field, T least, T most, std::string doc) {
    return {std::move(name), std::move(value),
            "a whole number from " + std::to_string(least) + " to " + std::to_string(most), std::move(doc),
            [field, least, most](Arguments& arguments, const std::string& text) {
                const auto number = number_in(text, least, most);
                if (number) {
                    arguments.*field = *number;
                }
                return number.has_value();
            }};
}

/// Option that takes a text that is not empty. `takes` describes the text in messages.
inline OptionRow text_option(
    std::string name, std::string value, std::string Arguments::*field, std::string takes, std::string doc) {
    return {std::move(name), std::move(value), std::move(takes), std::move(doc),
            [field](Arguments& arguments, const std::string& text) {
                arguments.*field = text;
                return !text.empty();
            }};
}

/// Option that takes one of `words`.
inline OptionRow one_of(std::string name,
                        std::string value,
                        std::string Arguments::*field,
                        std::vector<std::string> words,
                        std::string doc) {
    std::string takes = "one of";
    for (std::size_t i = 0; i < words.size(); ++i) {
        takes += (i == 0 ? " " : i + 1 == words.size() ? " and " : ", ") + words[i];
    }
    return {std::move(name), std::move(value), std::move(takes), std::move(doc),
            [field, words = std::move(words)](Arguments& arguments, const std::string& text) {
                arguments.*field = text;
                return std::find(words.begin(), words.end(), text) != words.end();
            }};
}

/// Option --add-bos: adds the begin-of-text token before each text.
///
/// \param otherwise  the default, for the help
inline OptionRow add_bos_row(const std::string& otherwise) {
    return one_of(
        "--add-bos", "CHOICE", &Arguments::add_bos, {"auto", "true", "false"},
        "add the begin-of-text token before each text: auto (as the tokenizer's files specify), true or "
        "false (default: " +
            otherwise + ")");
}

}  // namespace ziggurat::app
