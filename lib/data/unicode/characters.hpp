/// Characters of UTF-8 text: validation, codes, white space.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace ziggurat::data {

inline constexpr std::uint32_t max_code = 0x10FFFF;

/// A character and its number of bytes.
struct Utf8Character {
    std::uint32_t code = 0;
    std::uint32_t bytes = 1;
};

/// Returns the character of valid UTF-8 that begins at `at`, inside `text`.
inline Utf8Character character_at(std::string_view text, std::size_t at) noexcept {
    const auto byte = [&](std::size_t i) -> std::uint32_t {
        return static_cast<unsigned char>(text[at + i]);
    };
    const std::uint32_t first = byte(0);
    if (first < 0x80) {
        return {first, 1};
    }
    if (first < 0xE0) {
        return {(first & 0x1FU) << 6U | (byte(1) & 0x3FU), 2};
    }
    if (first < 0xF0) {
        return {(first & 0x0FU) << 12U | (byte(1) & 0x3FU) << 6U | (byte(2) & 0x3FU), 3};
    }
    return {(first & 0x07U) << 18U | (byte(1) & 0x3FU) << 12U | (byte(2) & 0x3FU) << 6U | (byte(3) & 0x3FU),
            4};
}

/// Returns the start of the character before `at`. \pre at > 0
inline std::size_t character_before(std::string_view text, std::size_t at) noexcept {
    do {
        --at;
    } while (at > 0 && (static_cast<unsigned char>(text[at]) & 0xC0U) == 0x80);
    return at;
}

/// Returns the offset of the first byte that is not UTF-8, or text.size().
///
/// Valid are codes up to 0x10FFFF in their shortest form, without surrogates.
std::size_t first_invalid_utf8(std::string_view text) noexcept;

/// Errors: Error{deck} that names the first byte that is not UTF-8
void expect_utf8(std::string_view text);

/// Errors: Error{deck} if offsets in `text` do not fit in 32 bits
void expect_offsets_fit(std::string_view text);

/// Appends the UTF-8 of a code, at most `max_code`.
void append_utf8(std::string& text, std::uint32_t code);

/// Returns true for Unicode's White_Space.
bool is_white_space(std::uint32_t code) noexcept;

}  // namespace ziggurat::data
