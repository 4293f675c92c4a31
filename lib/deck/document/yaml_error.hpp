/// Explanations of YAML syntax errors with a fix, to replace the parser's own messages.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace ziggurat::deck {

/// A position in a text; line and column are zero-based, columns count bytes.
struct TextPosition {
    std::size_t line = 0;
    std::size_t column = 0;
};

struct YamlError {
    TextPosition at;
    std::string problem;
    std::string reason;
    std::string advice;
};

/// Explains the error in `text` that the parser reported at `at` with `message`.
YamlError explain_yaml(std::string_view text, TextPosition at, const std::string& message);

}  // namespace ziggurat::deck
