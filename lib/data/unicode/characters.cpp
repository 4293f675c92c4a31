#include "data/unicode/characters.hpp"

#include <fmt/format.h>

#include <limits>

#include <cstring>

#include "base/error.hpp"

namespace ziggurat::data {
namespace {

bool continues(std::string_view text, std::size_t at) noexcept {
    return at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0U) == 0x80;
}

/// Returns the length in bytes of the character at `at`, whose first byte is not ASCII; 0: invalid.
std::size_t length_at(std::string_view text, std::size_t at) noexcept {
    const auto first = static_cast<unsigned char>(text[at]);
    if (first < 0xC2 || first > 0xF4) {
        return 0;
    }
    const std::size_t length = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
    for (std::size_t i = 1; i < length; ++i) {
        if (!continues(text, at + i)) {
            return 0;
        }
    }
    const auto code = character_at(text, at).code;
    const bool is_too_long = (length == 3 && code < 0x800) || (length == 4 && code < 0x10000);
    const bool is_surrogate = code >= 0xD800 && code < 0xE000;
    return is_too_long || is_surrogate || code > max_code ? 0 : length;
}

}  // namespace

std::size_t first_invalid_utf8(std::string_view text) noexcept {
    constexpr std::uint64_t high_bits = 0x8080808080808080U;
    std::size_t at = 0;
    while (at < text.size()) {
        std::uint64_t eight = 0;
        if (text.size() - at >= sizeof eight) {
            std::memcpy(&eight, text.data() + at, sizeof eight);
            if ((eight & high_bits) == 0) {
                at += sizeof eight;
                continue;
            }
        }
        const std::size_t length = static_cast<unsigned char>(text[at]) < 0x80 ? 1 : length_at(text, at);
        if (length == 0) {
            return at;
        }
        at += length;
    }
    return at;
}

void expect_utf8(std::string_view text) {
    if (const auto bad = first_invalid_utf8(text); bad < text.size()) {
        throw Error{ErrorKind::deck,
                    fmt::format("the text is not UTF-8 at its byte {} (0x{:02x}). Convert it, for example "
                                "with iconv -t UTF-8.",
                                bad, static_cast<unsigned char>(text[bad]))};
    }
}

void expect_offsets_fit(std::string_view text) {
    if (text.size() > std::numeric_limits<std::uint32_t>::max()) {
        throw Error{ErrorKind::deck, fmt::format("a text of {} bytes, which is longer than 4294967295. Split "
                                                 "it into smaller ones.",
                                                 text.size())};
    }
}

void append_utf8(std::string& text, std::uint32_t code) {
    const auto add = [&](std::uint32_t byte) { text += static_cast<char>(byte); };
    if (code < 0x80) {
        add(code);
        return;
    }
    if (code < 0x800) {
        add(0xC0U | code >> 6U);
    } else {
        if (code < 0x10000) {
            add(0xE0U | code >> 12U);
        } else {
            add(0xF0U | code >> 18U);
            add(0x80U | (code >> 12U & 0x3FU));
        }
        add(0x80U | (code >> 6U & 0x3FU));
    }
    add(0x80U | (code & 0x3FU));
}

bool is_white_space(std::uint32_t code) noexcept {
    return (code >= 0x09 && code <= 0x0D) || code == 0x20 || code == 0x85 || code == 0xA0 || code == 0x1680 ||
           (code >= 0x2000 && code <= 0x200A) || code == 0x2028 || code == 0x2029 || code == 0x202F ||
           code == 0x205F || code == 0x3000;
}

}  // namespace ziggurat::data
