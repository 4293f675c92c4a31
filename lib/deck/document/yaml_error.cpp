#include "deck/document/yaml_error.hpp"

#include <fmt/format.h>

#include <optional>
#include <vector>

#include "deck/messages/diagnostics.hpp"

namespace ziggurat::deck {
namespace {

constexpr std::string_view around_values = " [{,";

std::string_view line_of(std::string_view text, std::size_t number) {
    for (; number > 0; --number) {
        const auto end = text.find('\n');
        text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
    }
    return text.substr(0, text.find('\n'));
}

/// Finds the innermost bracket or quote that is still open at the end of a text.
///
/// Quotes are recognized only at the beginning of a value: an apostrophe within a word is not a quote.
class OpenAtTheEnd {
  public:
    explicit OpenAtTheEnd(std::string_view text) {
        for (const char c : text) {
            if (c == '\n') {
                ++here_.line;
                here_.column = 0;
                in_comment_ = false;
            } else {
                take(c);
                ++here_.column;
            }
            before_ = c;
            last_ = c == ' ' ? last_ : c;
        }
    }

    struct Mark {
        char sign;
        TextPosition at;
    };
    std::optional<Mark> innermost() const {
        return quote_ ? quote_ : open_.empty() ? std::nullopt : std::optional{open_.back()};
    }

  private:
    void take(char c) {
        constexpr std::string_view before_values = "\n:-[{,";
        const bool begins = before_values.find(last_) != std::string_view::npos;
        if (in_comment_) {
            return;
        }
        if (quote_) {
            const bool is_escaped = is_escape_open_;
            is_escape_open_ = quote_->sign == '"' && c == '\\' && !is_escaped;
            if (c == quote_->sign && !is_escaped) {
                quote_.reset();
            }
        } else if (c == '#' && (before_ == ' ' || before_ == '\n')) {
            in_comment_ = true;
        } else if ((c == '"' || c == '\'') && begins) {
            quote_ = Mark{c, here_};
        } else if ((c == '{' || c == '[') && (begins || !open_.empty())) {
            open_.push_back({c, here_});
        } else if ((c == '}' || c == ']') && !open_.empty()) {
            open_.pop_back();
        }
    }

    TextPosition here_;
    char before_ = '\n';
    char last_ = '\n';  ///< last character that is not a space
    bool in_comment_ = false;
    bool is_escape_open_ = false;
    std::optional<Mark> quote_;
    std::vector<Mark> open_;
};

/// Returns the value around `column`, delimited by the separators of flow collections.
std::string_view value_around(std::string_view line, std::size_t column) {
    const auto before = line.find_last_of(around_values, column);
    const auto begin = before == std::string_view::npos ? 0 : before + 1;
    const auto variable_end = line.find('}', column);
    auto end = line.find_first_of(",]}", variable_end == std::string_view::npos ? column : variable_end + 1);
    end = end == std::string_view::npos ? line.size() : end;
    auto value = line.substr(begin, end - begin);
    while (value.ends_with(' ') || value.ends_with('\r')) {
        value.remove_suffix(1);
    }
    return value;
}

std::string in_quotes_advice(std::string_view value) {
    return fmt::format("Put it in quotes: {}.", in_quotes(value));
}

}  // namespace

YamlError explain_yaml(std::string_view text, TextPosition at, const std::string& message) {
    const std::string_view line = line_of(text, at.line);
    const auto byte = [&](std::size_t column) { return column < line.size() ? line[column] : '\n'; };
    if (byte(at.column) == '{' && at.column > 0 && byte(at.column - 1) == '$') {
        return {{at.line, at.column - 1},
                "'${' without quotes",
                "between brackets YAML reads its '{' as the beginning of a map",
                in_quotes_advice(value_around(line, at.column - 1))};
    }
    if (byte(at.column) == '*') {
        const auto end = line.find_first_of(" ,]}", at.column);
        const auto value = line.substr(at.column, end == std::string_view::npos ? end : end - at.column);
        return {at, "a text that begins with '*', without quotes",
                "YAML reads it as the name of an anchor, and no such anchor exists", in_quotes_advice(value)};
    }
    if (const auto open = OpenAtTheEnd{text}.innermost()) {
        const bool is_quote = open->sign == '"' || open->sign == '\'';
        return {open->at, fmt::format("a {} that is never closed", is_quote ? "quote" : "bracket"),
                "it extends to the end of the text",
                fmt::format("Add its {}.", open->sign == '{'   ? "'}'"
                                           : open->sign == '[' ? "']'"
                                                               : "second one")};
    }
    if (byte(at.column) == ':' && message.find("flow not found") != std::string::npos) {
        return {at, "a ':' where a comma is expected", "between brackets, keys are separated by commas",
                "Put one before this key."};
    }
    if (at.column > 0 && (byte(at.column - 1) == '\'' || byte(at.column - 1) == '"')) {
        return {at, "a text that continues after its closing quote", message,
                "Within single quotes, write '' for a quote."};
    }
    if (message.find("map value") != std::string::npos) {
        const bool is_second = line.substr(0, at.column).find(": ") != std::string_view::npos;
        return {at, is_second ? "a second ':' in one line" : "this is not YAML",
                is_second ? "a map as a value needs braces or separate lines" : message,
                is_second ? "Write {key: value}, or put a text in quotes."
                          : "Begin all keys of one map in the same column."};
    }
    return {at, "this is not YAML", message, "Check the indentation, the quotes and the brackets."};
}

}  // namespace ziggurat::deck
