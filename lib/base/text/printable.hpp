/// Escaping of text of unknown origin for output: generated samples, file names, host names.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ziggurat {

/// Returns the length of the UTF-8 character at the start of `text`, 1 to 4 bytes; 0 if it is invalid.
std::size_t utf8_length(std::string_view text);

/// Returns the code of the first character of `text` if it can control a terminal; it is below 0x10000.
std::optional<std::uint32_t> steering_code(std::string_view text);

/// Treatment of newlines by printable().
enum class Newlines { escaped, kept };

/// Returns `text` with all bytes that could control a terminal written as `\xNN`.
///
/// These are control characters (also newlines, unless kept), direction marks, and bytes that are not valid
/// UTF-8. A backslash is kept.
std::string printable(std::string_view text, Newlines newlines = Newlines::escaped);

}  // namespace ziggurat
