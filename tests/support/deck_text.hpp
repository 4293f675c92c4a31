/// DeckText: deck text that a test writes key by key.
#pragma once

#include <fmt/format.h>

#include <string>
#include <utility>

namespace ziggurat::test {

/// Text of a deck: one line for each section, with keys in the order of set().
class DeckText {
  public:
    /// \param text  initial text
    explicit DeckText(std::string text = "deck_version: 1\n") : text_{std::move(text)} {}

    template <class T>
    void set(const char* key, const T& value) {
        keys_ += fmt::format("{}{}: {}", keys_.empty() ? "" : ", ", key, value);
    }
    /// Ends the section that contains the keys set since the last one.
    void section(const char* name) {
        if (!keys_.empty()) {
            text_ += fmt::format("{}: {{{}}}\n", name, keys_);
        }
        keys_.clear();
    }
    const std::string& text() const { return text_; }

  private:
    std::string text_;
    std::string keys_;
};

}  // namespace ziggurat::test
