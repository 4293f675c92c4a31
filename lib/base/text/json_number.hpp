/// JSON written into one reused line: no allocation after the line has reached its size, no rounding.
///
/// For output of every step. Larger documents use nlohmann-json.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ziggurat {

/// Appends the shortest text that parses to the same bits; `null` if `value` is not finite.
void append_json_number(std::string& text, double value);
void append_json_number(std::string& text, std::int64_t value);

/// Appends `value` in quotes. Escapes terminal control characters and bytes that are not valid UTF-8.
void append_json_string(std::string& text, std::string_view value);

/// One JSON object on one line. Its fields are values, or objects of values.
class JsonLine {
  public:
    explicit JsonLine(std::size_t capacity = 1024) { text_.reserve(capacity); }

    /// Starts a new object and discards the previous one.
    void begin();
    /// Writes a field. A value that is not finite becomes null, followed by `"<key>_nonfinite": true`.
    void field(std::string_view key, double value);
    void field(std::string_view key, std::int64_t value);
    void field(std::string_view key, int value) { field(key, static_cast<std::int64_t>(value)); }
    void field(std::string_view key, std::uint64_t value);
    void field(std::string_view key, bool value);
    void field(std::string_view key, std::string_view value);
    void field(std::string_view key, const char* value) { field(key, std::string_view{value}); }
    /// Writes `null` if `value` is empty.
    void text_or_null(std::string_view key, std::string_view value);
    void field(std::string_view key, const std::optional<double>& value) {
        value ? field(key, *value) : text_or_null(key, {});
    }
    /// Begins an object inside this one: the fields up to close() belong to it.
    void open(std::string_view key);
    void close();
    /// Ends the object and its line. The result is valid until the next begin().
    std::string_view end();

  private:
    void key(std::string_view name);

    std::string text_;
};

}  // namespace ziggurat
