/// Rows of options by what they take.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/command_table.hpp"

namespace ziggurat::app {

/// All of `text` as a number within bounds.
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

/// A whole number.
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

/// A text that is not empty, called `takes`.
inline OptionRow text_option(
    std::string name, std::string value, std::string Arguments::*field, std::string takes, std::string doc) {
    return {std::move(name), std::move(value), std::move(takes), std::move(doc),
            [field](Arguments& arguments, const std::string& text) {
                arguments.*field = text;
                return !text.empty();
            }};
}

/// One of some words.
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

/// Whether texts begin with a token of their own.
inline OptionRow add_bos_row(const std::string& otherwise) {
    return one_of(
        "--add-bos", "CHOICE", &Arguments::add_bos, {"auto", "true", "false"},
        "the begin-of-text token before each text: auto, true or false; auto: as the tokenizer's files "
        "say (default: " +
            otherwise + ")");
}

}  // namespace ziggurat::app
