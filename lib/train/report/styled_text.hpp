/// A line whose parts a terminal may show in colour.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ziggurat::train {

/// Meaning of a part of a line; its look follows from it.
enum class Style {
    plain,
    aside,    ///< of use once, or to look something up
    heading,  ///< the beginning of a line of another kind than those around it
    caution,  ///< worth a look
    alarm     ///< something is wrong
};

/// Plain text with styles beside it, so that its width is that of its text. Reused, it does not allocate.
class StyledText {
  public:
    StyledText() {
        text_.reserve(512);
        parts_.reserve(32);
    }

    void clear() noexcept {
        text_.clear();
        parts_.clear();
    }
    void add(std::string_view text, Style style = Style::plain);
    std::string_view plain() const noexcept { return text_; }
    /// Leaves the first `bytes` of it.
    void cut(int bytes);
    /// Leaves no blanks at its end.
    void trim();

    /// Appends the text to `out`, with escape sequences around what is not plain when `has_colours`.
    void append_to(std::string& out, bool has_colours) const;

  private:
    struct Part {
        std::size_t end;
        Style style;
    };

    std::string text_;
    std::vector<Part> parts_;  ///< adjoining
};

/// The escape sequence that begins `style`; that of Style::plain ends all others.
std::string_view escape_of(Style style);

}  // namespace ziggurat::train
