/// Added tokens: texts that are single tokens, found before all other processing.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "data/tokenizer/pattern.hpp"

namespace ziggurat::data {

struct AddedToken {
    std::string content;
    std::int32_t id = 0;
    bool takes_left_space = false;   ///< lstrip: preceding white space belongs to it
    bool takes_right_space = false;  ///< rstrip: following white space belongs to it
    bool is_normalized = false;      ///< searched in the normalized text, else in the original text

    bool operator==(const AddedToken&) const = default;
};

/// A part of a text: an added token, or the text between two of them.
struct TextSegment {
    static constexpr std::int32_t no_token = -1;

    std::string_view text;
    std::int32_t token = no_token;

    bool operator==(const TextSegment&) const = default;
};

/// Splits texts at added tokens: at the leftmost match, and among equals at the longest.
class AddedTokenFinder {
  public:
    explicit AddedTokenFinder(std::vector<AddedToken> tokens);

    /// Appends the non-empty segments of `text`, which is valid UTF-8; they point into it.
    void cut(std::string_view text, std::vector<TextSegment>& segments) const;

  private:
    const AddedToken* find(std::string_view text, std::size_t from, std::size_t& at) const;

    std::vector<AddedToken> tokens_;  ///< sorted by first byte, then longest first
    std::array<std::uint32_t, 257> first_of_byte_{};
};

}  // namespace ziggurat::data
