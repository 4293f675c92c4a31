/// JSON written into one reused line: no allocation once the line has its size, no rounding.
///
/// For what is written every step; anything larger is nlohmann-json's.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ziggurat {

/// Appends the shortest text that reads back to the same bits; `null` when `value` is not finite.
void append_json_number(std::string& text, double value);
void append_json_number(std::string& text, std::int64_t value);

/// Appends `value` in quotes; what could steer a terminal and bytes that are no UTF-8 are escaped.
void append_json_string(std::string& text, std::string_view value);

/// One JSON object on one line. Its fields are values, or objects of values.
class JsonLine {
  public:
    explicit JsonLine(std::size_t capacity = 1024) { text_.reserve(capacity); }

    /// Starts a new object; what was there is forgotten.
    void begin();
    /// A value that is not finite becomes null, followed by `"<key>_nonfinite": true`.
    void field(std::string_view key, double value);
    void field(std::string_view key, std::int64_t value);
    void field(std::string_view key, int value) { field(key, static_cast<std::int64_t>(value)); }
    void field(std::string_view key, std::uint64_t value);
    void field(std::string_view key, bool value);
    void field(std::string_view key, std::string_view value);
    void field(std::string_view key, const char* value) { field(key, std::string_view{value}); }
    /// `null` for a text that is empty.
    void text_or_null(std::string_view key, std::string_view value);
    void field(std::string_view key, const std::optional<double>& value) {
        value ? field(key, *value) : text_or_null(key, {});
    }
    /// The fields from here to close() are those of an object inside this one.
    void open(std::string_view key);
    void close();
    /// Ends the object and its line; valid until the next begin().
    std::string_view end();

  private:
    void key(std::string_view name);

    std::string text_;
};

}  // namespace ziggurat
