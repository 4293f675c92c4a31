/// Line of text with styles, which a terminal may show in colour.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ziggurat::train {

/// Meaning of a part of a line, which determines its colour.
enum class Style {
    plain,
    aside,    ///< secondary information
    heading,  ///< beginning of a line of another kind than the lines around it
    caution,  ///< should be checked
    alarm     ///< an error
};

/// Plain text with styles stored separately, so that its width is that of the plain text.
///
/// No allocation if it is reused.
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
    /// Truncates the text to its first `bytes`.
    void cut(int bytes);
    /// Removes trailing blanks.
    void trim();

    /// Appends the text to `out`, with escape sequences around styled parts if `has_colours`.
    void append_to(std::string& out, bool has_colours) const;

  private:
    struct Part {
        std::size_t end;
        Style style;
    };

    std::string text_;
    std::vector<Part> parts_;  ///< contiguous
};

/// Returns the escape sequence that starts `style`; that of Style::plain ends all others.
std::string_view escape_of(Style style);

}  // namespace ziggurat::train
