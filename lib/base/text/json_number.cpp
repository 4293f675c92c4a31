#include "base/text/json_number.hpp"

#include <array>
#include <charconv>
#include <cmath>

#include "base/text/printable.hpp"

namespace ziggurat {
namespace {

template <class Number>
void append_shortest(std::string& text, Number value) {
    std::array<char, 32> digits;
    const auto [end, error] = std::to_chars(digits.data(), digits.data() + digits.size(), value);
    text.append(digits.data(), end);
}

void append_escape(std::string& text, unsigned code) {
    constexpr std::string_view hex = "0123456789abcdef";
    text += "\\u";
    for (const unsigned shift : {12U, 8U, 4U, 0U}) {
        text += hex[code >> shift & 15U];
    }
}

}  // namespace

void append_json_number(std::string& text, double value) {
    if (std::isfinite(value)) {
        append_shortest(text, value);
    } else {
        text += "null";
    }
}

void append_json_number(std::string& text, std::int64_t value) {
    append_shortest(text, value);
}

void append_json_string(std::string& text, std::string_view value) {
    text += '"';
    for (std::size_t i = 0; i < value.size();) {
        const auto byte = static_cast<unsigned char>(value[i]);
        const std::size_t length = utf8_length(value.substr(i));
        if (byte == '"' || byte == '\\') {
            text += '\\';
            text += value[i];
        } else if (byte == '\n') {
            text += "\\n";
        } else if (const auto code = steering_code(value.substr(i)); code || length == 0) {
            append_escape(text, code.value_or(byte));
        } else {
            text += value.substr(i, length);
        }
        i += length == 0 ? 1 : length;
    }
    text += '"';
}

void JsonLine::begin() {
    text_.clear();
    text_ += '{';
}

void JsonLine::key(std::string_view name) {
    if (text_.back() != '{') {
        text_ += ',';
    }
    append_json_string(text_, name);
    text_ += ':';
}

void JsonLine::field(std::string_view name, double value) {
    key(name);
    append_json_number(text_, value);
    if (!std::isfinite(value)) {
        text_ += ",\"";
        text_ += name;
        text_ += "_nonfinite\":true";
    }
}

void JsonLine::field(std::string_view name, std::int64_t value) {
    key(name);
    append_json_number(text_, value);
}

void JsonLine::field(std::string_view name, std::uint64_t value) {
    key(name);
    append_shortest(text_, value);
}

void JsonLine::field(std::string_view name, bool value) {
    key(name);
    text_ += value ? "true" : "false";
}

void JsonLine::field(std::string_view name, std::string_view value) {
    key(name);
    append_json_string(text_, value);
}

void JsonLine::text_or_null(std::string_view name, std::string_view value) {
    if (!value.empty()) {
        field(name, value);
        return;
    }
    key(name);
    text_ += "null";
}

void JsonLine::open(std::string_view name) {
    key(name);
    text_ += '{';
}

void JsonLine::close() {
    text_ += '}';
}

std::string_view JsonLine::end() {
    text_ += "}\n";
    return text_;
}

}  // namespace ziggurat
