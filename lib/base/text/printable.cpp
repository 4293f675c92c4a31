#include "base/text/printable.hpp"

#include <array>
#include <cstdint>

namespace ziggurat {
namespace {

struct Utf8Form {
    unsigned lead_mask, lead_bits;
    std::size_t length;
    /// Smallest code of this length; a smaller code is overlong, which is invalid UTF-8.
    std::uint32_t smallest;
};
constexpr std::array<Utf8Form, 3> long_forms{{
    {0xe0, 0xc0, 2, 0x80},
    {0xf0, 0xe0, 3, 0x800},
    {0xf8, 0xf0, 4, 0x10000},
}};

struct Character {
    std::uint32_t code = 0;
    std::size_t length = 0;  ///< 0: not a valid character
};

unsigned byte_at(std::string_view text, std::size_t i) {
    return static_cast<unsigned char>(text[i]);
}

Character first_character(std::string_view text) {
    if (text.empty()) {
        return {};
    }
    const unsigned lead = byte_at(text, 0);
    if (lead < 0x80) {
        return {lead, 1};
    }
    for (const Utf8Form& form : long_forms) {
        if ((lead & form.lead_mask) != form.lead_bits || text.size() < form.length) {
            continue;
        }
        std::uint32_t code = lead & ~form.lead_mask;
        for (std::size_t i = 1; i < form.length; ++i) {
            if ((byte_at(text, i) & 0xc0U) != 0x80U) {
                return {};
            }
            code = code << 6U | (byte_at(text, i) & 0x3fU);
        }
        const bool is_surrogate = code >= 0xd800 && code <= 0xdfff;
        return code < form.smallest || code > 0x10ffff || is_surrogate ? Character{}
                                                                       : Character{code, form.length};
    }
    return {};
}

bool steers_a_terminal(std::uint32_t code) {
    const bool is_control = code < 0x20 || (code >= 0x7f && code < 0xa0);
    const bool is_direction = (code >= 0x200b && code <= 0x200f) || (code >= 0x2028 && code <= 0x202e) ||
                              (code >= 0x2060 && code <= 0x206f) || code == 0xfeff;
    return is_control || is_direction;
}

}  // namespace

std::size_t utf8_length(std::string_view text) {
    return first_character(text).length;
}

std::optional<std::uint32_t> steering_code(std::string_view text) {
    const Character character = first_character(text);
    const bool steers = character.length > 0 && steers_a_terminal(character.code);
    return steers ? std::optional{character.code} : std::nullopt;
}

std::string printable(std::string_view text, Newlines newlines) {
    constexpr std::string_view hex = "0123456789abcdef";
    std::string safe;
    for (std::size_t i = 0; i < text.size();) {
        const Character character = first_character(text.substr(i));
        const std::size_t length = character.length == 0 ? 1 : character.length;
        const bool is_kept_newline = text[i] == '\n' && newlines == Newlines::kept;
        if (is_kept_newline || (character.length > 0 && !steers_a_terminal(character.code))) {
            safe += text.substr(i, length);
        } else {
            for (std::size_t k = 0; k < length; ++k) {
                safe += "\\x";
                safe += hex[byte_at(text, i + k) >> 4U];
                safe += hex[byte_at(text, i + k) & 15U];
            }
        }
        i += length;
    }
    return safe;
}

}  // namespace ziggurat
