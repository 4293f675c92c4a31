#include "base/text/text_width.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

#include "base/text/printable.hpp"

namespace ziggurat {
namespace {

struct CodeRange {
    std::uint32_t first, last;
};

/// Source: Unicode 15, EastAsianWidth.txt: W and F, neighbouring blocks joined.
constexpr std::array<CodeRange, 13> wide{{{0x1100, 0x115f},
                                          {0x231a, 0x231b},
                                          {0x2e80, 0x303e},
                                          {0x3041, 0xa4cf},
                                          {0xa960, 0xa97c},
                                          {0xac00, 0xd7a3},
                                          {0xf900, 0xfaff},
                                          {0xfe30, 0xfe6f},
                                          {0xff01, 0xff60},
                                          {0xffe0, 0xffe6},
                                          {0x16fe0, 0x18cff},
                                          {0x1f300, 0x1faff},
                                          {0x20000, 0x3fffd}}};
/// Combining marks of the scripts that use them most.
constexpr std::array<CodeRange, 7> stacked{{{0x0300, 0x036f},
                                            {0x0483, 0x0489},
                                            {0x0591, 0x05bd},
                                            {0x0610, 0x061a},
                                            {0x064b, 0x065f},
                                            {0x20d0, 0x20f0},
                                            {0xfe00, 0xfe0f}}};

template <std::size_t n>
bool is_in(const std::array<CodeRange, n>& ranges, std::uint32_t code) {
    return std::ranges::any_of(ranges,
                               [code](const CodeRange& r) { return code >= r.first && code <= r.last; });
}

/// First character of a text that is not empty.
struct Character {
    std::size_t length = 1;
    int columns = 1;
};

Character first_character(std::string_view text) {
    const std::size_t length = utf8_length(text);
    if (length <= 1) {
        return {};
    }
    std::uint32_t code = static_cast<unsigned char>(text[0]) & (0x7fU >> length);
    for (std::size_t i = 1; i < length; ++i) {
        code = code << 6U | (static_cast<unsigned char>(text[i]) & 0x3fU);
    }
    return {length, is_in(stacked, code) ? 0 : is_in(wide, code) ? 2 : 1};
}

}  // namespace

int text_width(std::string_view text) {
    int columns = 0;
    while (!text.empty()) {
        const auto character = first_character(text);
        columns += character.columns;
        text.remove_prefix(character.length);
    }
    return columns;
}

std::string_view clipped(std::string_view text, int columns) {
    std::size_t end = 0;
    for (int taken = 0; end < text.size();) {
        const auto character = first_character(text.substr(end));
        taken += character.columns;
        if (taken > columns) {
            break;
        }
        end += character.length;
    }
    return text.substr(0, end);
}

std::string shortened(std::string_view text, int columns) {
    if (text_width(text) <= columns) {
        return std::string{text};
    }
    return std::string{clipped(text, std::max(0, columns - 3))} +
           std::string{clipped("...", std::max(0, columns))};
}

std::string shortened_from_left(std::string_view text, int columns) {
    int surplus = text_width(text) - columns;
    if (surplus <= 0) {
        return std::string{text};
    }
    surplus += 3;
    while (surplus > 0 && !text.empty()) {
        const auto character = first_character(text);
        surplus -= character.columns;
        text.remove_prefix(character.length);
    }
    return std::string{clipped("...", std::max(0, columns))} + std::string{text};
}

std::string wrapped(std::string_view text, int columns, std::string_view indent) {
    if (columns <= 0) {
        return std::string{text};
    }
    std::string lines;
    int taken = 0;
    bool is_first = true;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find(' '), text.size());
        const auto word = text.substr(0, end);
        const int width = text_width(word);
        if (!is_first && taken + 1 + width > columns) {
            lines += '\n';
            lines += indent;
            taken = text_width(indent);
        } else if (!is_first) {
            lines += ' ';
            ++taken;
        }
        lines += word;
        taken += width;
        is_first = false;
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return lines;
}

std::string for_display(std::string_view text, int columns) {
    return shortened(printable(text), columns);
}

}  // namespace ziggurat
