#include <algorithm>
#include <array>

#include "data/tokenizer/pattern.hpp"
#include "data/unicode/character_classes.hpp"

namespace ziggurat::data {
namespace {

constexpr std::string_view words_of_tiktoken =
    R"('(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
constexpr std::string_view numbered_words_expression =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view single_digits_expression =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

constexpr std::uint32_t long_s = 0x17F;  // folds to s

/// A position in a text, and the class of the character there.
class Cursor {
  public:
    Cursor(const CharacterClasses& classes, std::string_view text, std::size_t at)
        : classes_{classes}, text_{text}, at_{at} {
        advance_class();
    }

    std::size_t at() const noexcept { return at_; }
    bool is_at_end() const noexcept { return at_ == text_.size(); }
    std::uint32_t code() const noexcept { return character_.code; }
    bool is(CharacterClass asked) const noexcept { return !is_at_end() && class_ == asked; }
    bool is_newline() const noexcept { return !is_at_end() && (code() == '\r' || code() == '\n'); }

    void step() noexcept {
        at_ += character_.bytes;
        advance_class();
    }
    void skip(CharacterClass of) noexcept {
        while (is(of)) {
            step();
        }
    }

  private:
    void advance_class() noexcept {
        if (!is_at_end()) {
            character_ = character_at(text_, at_);
            class_ = classes_[character_.code];
        }
    }

    const CharacterClasses& classes_;
    std::string_view text_;
    std::size_t at_;
    Utf8Character character_;
    CharacterClass class_ = CharacterClass::other;
};

/// Common part of the known expressions.
///
/// Every character belongs to some match, so a search always matches at its start.
class KnownPattern : public Pattern {
  public:
    bool search(std::string_view text, std::size_t from, MatchRange& match) const final {
        if (from >= text.size()) {
            return false;
        }
        match = {from, end_of_match(text, from)};
        return true;
    }

  protected:
    const CharacterClasses& classes() const noexcept { return classes_; }

    /// Returns the end of `\s+(?!\S)|\s+`.
    ///
    /// At the end of the text this is all white space. Otherwise it is all but the last white space
    /// character, or that character if it is the only one.
    ///
    /// \param run_end  end of the white space that begins at `from`
    static std::size_t end_of_space(std::string_view text, std::size_t from, std::size_t run_end) noexcept {
        if (run_end == text.size()) {
            return run_end;
        }
        const std::size_t last = character_before(text, run_end);
        return last > from ? last : run_end;
    }

  private:
    virtual std::size_t end_of_match(std::string_view text, std::size_t from) const = 0;

    CharacterClasses classes_;
};

class WordsPattern final : public KnownPattern {
    std::size_t end_of_match(std::string_view text, std::size_t from) const override {
        if (text[from] == '\'') {
            for (const std::string_view ending : {"s", "t", "re", "ve", "m", "ll", "d"}) {
                if (text.substr(from + 1, ending.size()) == ending) {
                    return from + 1 + ending.size();
                }
            }
        }
        Cursor cursor{classes(), text, from};
        if (text[from] == ' ') {
            cursor.step();
        }
        for (const auto kind : {CharacterClass::letter, CharacterClass::number, CharacterClass::other}) {
            if (cursor.is(kind)) {
                cursor.skip(kind);
                return cursor.at();
            }
        }
        cursor.skip(CharacterClass::space);
        return end_of_space(text, from, cursor.at());
    }
};

class NumberedWordsPattern final : public KnownPattern {
  public:
    /// \param max_digits  maximum length of a match of numbers
    explicit NumberedWordsPattern(int max_digits) : max_digits_{max_digits} {}

  private:
    std::size_t end_of_match(std::string_view text, std::size_t from) const override {
        Cursor cursor{classes(), text, from};
        if (cursor.code() == '\'') {
            if (const auto end = end_of_contraction(text, from); end > from) {
                return end;
            }
        }
        const bool may_lead_letters = !cursor.is_newline() && !cursor.is(CharacterClass::number);
        if (may_lead_letters) {
            Cursor letters = cursor;
            if (!letters.is(CharacterClass::letter)) {
                letters.step();
            }
            if (letters.is(CharacterClass::letter)) {
                letters.skip(CharacterClass::letter);
                return letters.at();
            }
        }
        if (cursor.is(CharacterClass::number)) {
            for (int i = 0; i < max_digits_ && cursor.is(CharacterClass::number); ++i) {
                cursor.step();
            }
            return cursor.at();
        }
        Cursor others = cursor;
        if (others.code() == ' ') {
            others.step();
        }
        if (others.is(CharacterClass::other)) {
            others.skip(CharacterClass::other);
            while (others.is_newline()) {
                others.step();
            }
            return others.at();
        }
        return end_of_lines(text, from, cursor);
    }

    /// Returns the end of `\s*[\r\n]+` at the last newline of the white space, else as end_of_space().
    static std::size_t end_of_lines(std::string_view text, std::size_t from, Cursor cursor) noexcept {
        std::size_t after_newline = from;
        while (cursor.is(CharacterClass::space)) {
            const bool is_newline = cursor.is_newline();
            cursor.step();
            after_newline = is_newline ? cursor.at() : after_newline;
        }
        return after_newline > from ? after_newline : end_of_space(text, from, cursor.at());
    }

    /// Returns the end of the contraction at `from`, in either case; `from` if there is no contraction.
    static std::size_t end_of_contraction(std::string_view text, std::size_t from) noexcept {
        const auto lower = [&](std::size_t at) {
            const char c = at < text.size() ? text[at] : '\0';
            return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
        };
        const char first = lower(from + 1);
        if (first == 's' || first == 't' || first == 'm' || first == 'd') {
            return from + 2;
        }
        const bool is_of_two = ((first == 'r' || first == 'v') && lower(from + 2) == 'e') ||
                               (first == 'l' && lower(from + 2) == 'l');
        if (is_of_two) {
            return from + 3;
        }
        if (from + 1 < text.size()) {
            const auto character = character_at(text, from + 1);
            return character.code == long_s ? from + 1 + character.bytes : from;
        }
        return from;
    }

    int max_digits_;
};

}  // namespace

const std::string_view words_expression =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

std::unique_ptr<const Pattern> known_pattern(std::string_view expression) {
    if (expression == words_expression || expression == words_of_tiktoken) {
        return std::make_unique<WordsPattern>();
    }
    if (expression == numbered_words_expression) {
        return std::make_unique<NumberedWordsPattern>(3);
    }
    if (expression == single_digits_expression) {
        return std::make_unique<NumberedWordsPattern>(1);
    }
    return nullptr;
}

}  // namespace ziggurat::data
