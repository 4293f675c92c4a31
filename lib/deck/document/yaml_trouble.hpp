/// Reasons for which a text is not YAML, with what to change: the parser's own say what it expected.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace ziggurat::deck {

/// A position in a text; line and column count from 0, columns in bytes.
struct TextPosition {
    std::size_t line = 0;
    std::size_t column = 0;
};

struct YamlTrouble {
    TextPosition at;
    std::string problem;
    std::string why;
    std::string advice;
};

/// The error in `text`, of which the parser gave up at `at` with `message`.
YamlTrouble explain_yaml(std::string_view text, TextPosition at, const std::string& message);

}  // namespace ziggurat::deck
