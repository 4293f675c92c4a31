/// Patterns that texts are cut by, matched as Hugging Face's tokenizers match them: by Oniguruma, with the
/// classes of characters of Unicode 16 (unicode_classes.hpp).
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace ziggurat::data {

/// Half-open range of bytes of a text.
struct ByteRange {
    std::size_t begin = 0;
    std::size_t end = 0;

    bool is_empty() const noexcept { return begin == end; }
    bool operator==(const ByteRange&) const = default;
};

/// A compiled pattern; any thread may search by it.
class Pattern {
  public:
    virtual ~Pattern() = default;

    /// The first match in valid UTF-8 that begins at `from` or later, which may be empty; false: there is
    /// none.
    ///
    /// Errors: Error{deck} when the search takes more steps than the engine allows
    virtual bool search(std::string_view text, std::size_t from, ByteRange& match) const = 0;
};

/// Compiles a regular expression.
///
/// Errors: Error{deck} with the engine's reason, without what to do about it
std::unique_ptr<const Pattern> compile_pattern(const std::string& expression);

/// Matches `text`, which is not empty, alone.
std::unique_ptr<const Pattern> make_literal_pattern(std::string text);

/// The same matches for the expressions of GPT-2, Llama 3 and Qwen 2, by hand and faster; nothing for any
/// other expression.
std::unique_ptr<const Pattern> known_pattern(std::string_view expression);

/// The expression by which ByteLevel cuts.
extern const std::string_view words_expression;

/// One match after the other, as the crate `onig` iterates: an empty one right behind the one before is left
/// out.
class MatchIterator {
  public:
    MatchIterator(const Pattern& pattern, std::string_view text) : pattern_{pattern}, text_{text} {}

    /// False: there is no other.
    bool next(ByteRange& match);

  private:
    const Pattern& pattern_;
    std::string_view text_;
    std::size_t from_ = 0;
    std::size_t end_of_last_ = std::string_view::npos;
};

}  // namespace ziggurat::data
