#include "deck/messages/confusables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

#include "base/text/printable.hpp"

namespace ziggurat::deck {
namespace {

struct Confusable {
    std::uint32_t code;
    const char* name;
    const char* meant;  ///< intended character, with quotes; empty for invisible characters
};

constexpr std::array known{
    Confusable{0x00A0, "a no-break space", "a space"},
    Confusable{0x00AD, "a soft hyphen", ""},
    Confusable{0x2002, "an en space", "a space"},
    Confusable{0x2003, "an em space", "a space"},
    Confusable{0x2007, "a figure space", "a space"},
    Confusable{0x2009, "a thin space", "a space"},
    Confusable{0x200B, "a zero-width space", ""},
    Confusable{0x200C, "a zero-width non-joiner", ""},
    Confusable{0x200D, "a zero-width joiner", ""},
    Confusable{0x2010, "a hyphen of typesetters", "a '-'"},
    Confusable{0x2011, "a no-break hyphen", "a '-'"},
    Confusable{0x2012, "a figure dash", "a '-'"},
    Confusable{0x2013, "an en dash", "a '-'"},
    Confusable{0x2014, "an em dash", "a '-'"},
    Confusable{0x2018, "a left single quotation mark", "a \"'\""},
    Confusable{0x2019, "a right single quotation mark", "a \"'\""},
    Confusable{0x201C, "a left double quotation mark", "a '\"'"},
    Confusable{0x201D, "a right double quotation mark", "a '\"'"},
    Confusable{0x201E, "a low double quotation mark", "a '\"'"},
    Confusable{0x2024, "a one dot leader", "a '.'"},
    Confusable{0x2026, "an ellipsis", "three dots"},
    Confusable{0x2028, "a line separator", "a line end"},
    Confusable{0x202F, "a narrow no-break space", "a space"},
    Confusable{0x2060, "a word joiner", ""},
    Confusable{0x2212, "a minus sign", "a '-'"},
    Confusable{0x3000, "an ideographic space", "a space"},
    Confusable{0xFEFF, "a byte-order mark", ""},
};

/// Returns the code point of `text`, one character of two or three bytes.
std::uint32_t code_of(std::string_view text) {
    std::uint32_t code = static_cast<unsigned char>(text[0]) & (text.size() == 2 ? 0x1Fu : 0x0Fu);
    for (const char byte : text.substr(1)) {
        code = (code << 6u) | (static_cast<unsigned char>(byte) & 0x3Fu);
    }
    return code;
}

std::optional<std::string> sentence_about(std::uint32_t code, std::size_t column) {
    if (code > 0xFF00 && code < 0xFF5F) {  // full-width forms of ASCII, in ASCII order
        return fmt::format("U+{:04X} in column {} is full-width, not a '{}'.", code, column,
                           static_cast<char>(code - 0xFF00 + 0x20));
    }
    const auto* found = std::ranges::find(known, code, &Confusable::code);
    if (found == known.end()) {
        return std::nullopt;
    }
    const std::string meant =
        *found->meant == '\0' ? ", which is invisible" : fmt::format(", not {}", found->meant);
    return fmt::format("U+{:04X} in column {} is {}{}.", code, column, found->name, meant);
}

}  // namespace

std::string confusables(std::string_view line, int column) {
    constexpr int max = 3;
    std::string sentences;
    int count = 0;
    for (std::size_t at = static_cast<std::size_t>(std::max(column, 1)) - 1;
         at < line.size() && count < max;) {
        const std::string_view rest = line.substr(at);
        if (rest[0] == '#' && (at == 0 || line[at - 1] == ' ' || line[at - 1] == '\t')) {
            break;
        }
        const std::size_t length = std::max<std::size_t>(1, utf8_length(rest));
        if (length == 2 || length == 3) {
            if (const auto sentence = sentence_about(code_of(rest.substr(0, length)), at + 1)) {
                sentences += (sentences.empty() ? "" : " ") + *sentence;
                ++count;
            }
        }
        at += length;
    }
    return sentences;
}

}  // namespace ziggurat::deck
