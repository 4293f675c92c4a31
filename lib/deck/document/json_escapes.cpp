#include "deck/document/json_escapes.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cstdint>
#include <optional>

namespace ziggurat::deck {
namespace {

/// Parses the escape `\uXXXX` at the beginning of `text`; nullopt if there is no such escape.
std::optional<std::uint32_t> utf16_escape(std::string_view text) {
    std::uint32_t unit = 0;
    if (!text.starts_with("\\u") || text.size() < 6) {
        return std::nullopt;
    }
    const auto [end, error] = std::from_chars(text.data() + 2, text.data() + 6, unit, 16);
    return error == std::errc{} && end == text.data() + 6 ? std::optional{unit} : std::nullopt;
}

}  // namespace

std::string join_surrogates(std::string_view text) {
    std::string joined;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const auto high = utf16_escape(text.substr(i));
        const auto low =
            high && *high >= 0xd800 && *high < 0xdc00 ? utf16_escape(text.substr(i + 6)) : std::nullopt;
        if (low && *low >= 0xdc00 && *low < 0xe000) {
            joined += fmt::format("\\U{:08x}", 0x10000 + ((*high - 0xd800) << 10) + (*low - 0xdc00));
            i += 11;
        } else {
            joined += text[i];
        }
    }
    return joined;
}

}  // namespace ziggurat::deck
