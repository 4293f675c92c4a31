/// Factories of OptionRowOf for common kinds of values.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/command_line/command_row.hpp"

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

template <class O>
OptionRowOf<O> flag(std::string name, bool O::*field, std::string doc) {
    return {std::move(name), "", "", std::move(doc),
            [field](O& options, const std::string&) { return options.*field = true; }};
}

/// Option that takes a whole number within bounds (inclusive).
template <class O, class Field, class T>
OptionRowOf<O> whole(std::string name, std::string value, Field O::*field, T min, T max, std::string doc) {
    return {std::move(name), std::move(value),
            "a whole number from " + std::to_string(min) + " to " + std::to_string(max), std::move(doc),
            [field, min, max](O& options, const std::string& text) {
                const auto number = number_in(text, min, max);
                if (number) {
                    options.*field = *number;
                }
                return number.has_value();
            }};
}

/// Option that takes a text that is not empty. `takes` describes the text in messages.
template <class O>
OptionRowOf<O> text_option(
    std::string name, std::string value, std::string O::*field, std::string takes, std::string doc) {
    return {std::move(name), std::move(value), std::move(takes), std::move(doc),
            [field](O& options, const std::string& text) {
                options.*field = text;
                return !text.empty();
            }};
}

/// Option that takes one of `values`.
template <class O>
OptionRowOf<O> one_of(std::string name,
                      std::string value,
                      std::string O::*field,
                      std::vector<std::string> values,
                      std::string doc) {
    std::string takes = "one of";
    for (std::size_t i = 0; i < values.size(); ++i) {
        takes += (i == 0 ? " " : i + 1 == values.size() ? " and " : ", ") + values[i];
    }
    return {std::move(name), std::move(value), std::move(takes), std::move(doc),
            [field, values = std::move(values)](O& options, const std::string& text) {
                options.*field = text;
                return std::find(values.begin(), values.end(), text) != values.end();
            }};
}

/// Option --add-bos: adds the begin-of-text token before each text.
///
/// \param default_value  the default, for the help
template <class O>
OptionRowOf<O> add_bos_row(std::string O::*field, const std::string& default_value) {
    return one_of(
        "--add-bos", "CHOICE", field, {"auto", "true", "false"},
        "add the begin-of-text token before each text: auto (as the tokenizer's files specify), true or "
        "false (default: " +
            default_value + ")");
}

}  // namespace ziggurat::app
