/// Patterns that split texts, matched by Oniguruma as in Hugging Face's tokenizers.
///
/// Character classes are those of Unicode 16 (unicode_classes.hpp).
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace ziggurat::data {

/// Half-open range of bytes of a text.
struct MatchRange {
    std::size_t begin = 0;
    std::size_t end = 0;

    bool is_empty() const noexcept { return begin == end; }
    bool operator==(const MatchRange&) const = default;
};

/// A compiled pattern. Several threads may use it.
class Pattern {
  public:
    virtual ~Pattern() = default;

    /// Finds the first match in valid UTF-8 that begins at `from` or later. It may be empty.
    ///
    /// Returns false if no match exists.
    ///
    /// Errors: Error{deck} if the search takes more steps than the engine allows
    virtual bool search(std::string_view text, std::size_t from, MatchRange& match) const = 0;
};

/// Compiles a regular expression.
///
/// Errors: Error{deck} with the engine's reason, without a remedy
std::unique_ptr<const Pattern> compile_pattern(const std::string& expression);

/// Creates a pattern that matches only `text`, which must not be empty.
std::unique_ptr<const Pattern> make_literal_pattern(std::string text);

/// Returns a faster, hand-written matcher for the expressions of GPT-2, Llama 3 and Qwen 2.
///
/// Else nullptr.
std::unique_ptr<const Pattern> known_pattern(std::string_view expression);

/// The expression of ByteLevel's split.
extern const std::string_view words_expression;

/// Iterator over matches, as in the crate `onig`.
///
/// It skips an empty match directly after the previous one.
class MatchIterator {
  public:
    MatchIterator(const Pattern& pattern, std::string_view text) : pattern_{pattern}, text_{text} {}

    /// Finds the next match. Returns false if no more match exists.
    bool next(MatchRange& match);

  private:
    const Pattern& pattern_;
    std::string_view text_;
    std::size_t from_ = 0;
    std::size_t end_of_last_ = std::string_view::npos;
};

}  // namespace ziggurat::data
