/// Factories of OptionRow for common kinds of values.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/command_line/command_table.hpp"

namespace ziggurat::app {

/// Parses all of `text` as a number within bounds (inclusive); empty if it is not one.
template <class T>
std::optional<T> number_in(const std::string& text, T min, T max) {
    T number{};
    const char* end = text.data() + text.size();
    const auto [stop, problem] = std::from_chars(text.data(), end, number);
    const bool is_number = problem == std::errc{} && stop == end && number >= min && number <= max;
    return is_number ? std::optional{number} : std::nullopt;
}

inline OptionRow flag(std::string name, bool Arguments::*field, std::string doc) {
    return {std::move(name), "", "", std::move(doc),
            [field](Arguments& arguments, const std::string&) { return arguments.*field = true; }};
}

/// Option that takes a whole number within bounds (inclusive).
template <class Field, class T>
OptionRow whole(std::string name, std::string value, Field Arguments::*field, T min, T max, std::string doc) {
    return {std::move(name), std::move(value),
            "a whole number from " + std::to_string(min) + " to " + std::to_string(max), std::move(doc),
            [field, min, max](Arguments& arguments, const std::string& text) {
                const auto number = number_in(text, min, max);
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

/// Option that takes one of `values`.
inline OptionRow one_of(std::string name,
                        std::string value,
                        std::string Arguments::*field,
                        std::vector<std::string> values,
                        std::string doc) {
    std::string takes = "one of";
    for (std::size_t i = 0; i < values.size(); ++i) {
        takes += (i == 0 ? " " : i + 1 == values.size() ? " and " : ", ") + values[i];
    }
    return {std::move(name), std::move(value), std::move(takes), std::move(doc),
            [field, values = std::move(values)](Arguments& arguments, const std::string& text) {
                arguments.*field = text;
                return std::find(values.begin(), values.end(), text) != values.end();
            }};
}

/// Option --add-bos: adds the begin-of-text token before each text.
///
/// \param default_value  the default, for the help
inline OptionRow add_bos_row(const std::string& default_value) {
    return one_of(
        "--add-bos", "CHOICE", &Arguments::add_bos, {"auto", "true", "false"},
        "add the begin-of-text token before each text: auto (as the tokenizer's files specify), true or "
        "false (default: " +
            default_value + ")");
}

}  // namespace ziggurat::app
