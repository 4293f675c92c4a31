#include "deck/files/json_keys.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

namespace ziggurat::deck {
namespace {

/// Returns the end of the string that begins at `begin`, after its closing quote.
std::size_t end_of_string(std::string_view text, std::size_t begin) {
    std::size_t at = begin + 1;
    while (at < text.size() && text[at] != '"') {
        at += text[at] == '\\' ? 2 : 1;
    }
    return std::min(at + 1, text.size());
}

/// Returns the content of a string with its escapes replaced.
std::string content_of(std::string_view string) {
    const auto value = nlohmann::json::parse(string, nullptr, false);
    return value.is_string() ? value.get<std::string>() : std::string{string};
}

/// One open bracket.
struct Level {
    std::string prefix;        ///< path of its keys, with a dot at the end
    bool is_left_out = false;  ///< true in a list
    bool is_map = false;
    std::string key = {};  ///< path of the last key
};

}  // namespace

TextLocation location_in(std::string_view text, std::size_t offset) {
    const auto before = text.substr(0, std::min(offset, text.size()));
    const auto newline = before.rfind('\n');
    const auto begin = newline == std::string_view::npos ? 0 : newline + 1;
    return {1 + static_cast<int>(std::count(before.begin(), before.end(), '\n')),
            1 + static_cast<int>(before.size() - begin)};
}

std::map<std::string, TextLocation> json_keys(std::string_view text) {
    std::map<std::string, TextLocation> keys;
    std::vector<Level> levels;
    int line = 1;
    std::size_t line_begin = 0;
    for (std::size_t at = 0; at < text.size(); ++at) {
        const char c = text[at];
        if (c == '\n') {  // strings cannot contain it
            ++line;
            line_begin = at + 1;
        } else if (c == '{' || c == '[') {
            const bool is_in_list = !levels.empty() && (!levels.back().is_map || levels.back().is_left_out);
            levels.push_back({levels.empty() ? "" : levels.back().key + ".", is_in_list, c == '{'});
        } else if ((c == '}' || c == ']') && !levels.empty()) {
            levels.pop_back();
        } else if (c == '"') {
            const auto end = end_of_string(text, at);
            const auto next = text.find_first_not_of(" \t\r\n", end);
            if (next != std::string_view::npos && text[next] == ':' && !levels.empty()) {
                auto& level = levels.back();
                level.key = level.prefix + content_of(text.substr(at, end - at));
                if (!level.is_left_out) {
                    keys[level.key] = {line, 1 + static_cast<int>(at - line_begin)};
                }
            }
            at = end - 1;
        }
    }
    return keys;
}

}  // namespace ziggurat::deck
