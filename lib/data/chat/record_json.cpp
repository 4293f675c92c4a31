#include "data/chat/record_json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>

#include "base/error.hpp"
#include "base/text/json_depth.hpp"
#include "base/text/printable.hpp"
#include "base/text/text_width.hpp"

namespace ziggurat::data {
namespace {

constexpr int max_depth = 64;
constexpr int reported_columns = 120;

/// Returns an integer of JSON that has more than 64 bits; empty if there is no such number.
///
/// The parser would round it, and templates print numbers.
std::string_view long_integer_of(std::string_view json) {
    constexpr std::string_view number = "+-.0123456789eE";
    constexpr std::size_t max_digits = 18;
    bool is_in_text = false;
    for (std::size_t at = 0; at < json.size(); ++at) {
        if (is_in_text) {
            is_in_text = json[at] != '"';
            at += json[at] == '\\' ? 1 : 0;  // skips the escaped character
            continue;
        }
        is_in_text = json[at] == '"';
        if (json[at] != '-' && (json[at] < '0' || json[at] > '9')) {
            continue;
        }
        const auto end = std::min(json.find_first_not_of(number, at), json.size());
        const auto found = json.substr(at, end - at);
        std::int64_t with_sign = 0;
        std::uint64_t without_sign = 0;
        const auto is_read = [&](auto& value) {
            return std::from_chars(found.data(), found.data() + found.size(), value).ec == std::errc{};
        };
        if (found.size() > max_digits && found.find_first_of(".eE") == std::string_view::npos &&
            !is_read(with_sign) && !is_read(without_sign)) {
            return found;
        }
        at = end - 1;
    }
    return {};
}

}  // namespace

void refuse_record(const std::string& problem, const std::string& remedy) {
    throw Error{ErrorKind::deck, fmt::format("{}. {}", problem, remedy)};
}

ChatJson parse_record_json(std::string_view text, const std::string& what, const std::string& remedy) {
    if (const auto integer = long_integer_of(text); !integer.empty()) {
        refuse_record(
            fmt::format("{} has the number {}, which has more than 64 bits", what, for_display(integer)),
            "Write it as a text.");
    }
    if (is_json_deeper(text, max_depth)) {
        refuse_record(fmt::format("{} is nested deeper than {} levels", what, max_depth), "Make it flatter.");
    }
    try {
        return ChatJson::parse(text.begin(), text.end());
    } catch (const ChatJson::exception& problem) {
        refuse_record(
            fmt::format("{} is not JSON ({})", what, shortened(printable(problem.what()), reported_columns)),
            remedy);
    }
}

}  // namespace ziggurat::data
