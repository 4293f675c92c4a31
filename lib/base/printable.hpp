/// Text of unknown origin made safe to show: generated samples, file names, names of hosts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ziggurat {

/// Bytes of the UTF-8 character that `text` starts with, 1 to 4; 0 when it starts with none.
std::size_t utf8_length(std::string_view text);

/// The code of the character that `text` starts with, below 0x10000, where it could steer a terminal.
std::optional<std::uint32_t> steering_code(std::string_view text);

/// What printable() does with line ends.
enum class Newlines { escaped, kept };

/// `text` with everything that could steer a terminal written as `\xNN`: control characters (newlines too,
/// unless kept), direction marks, bytes that are no UTF-8. A backslash stays.
std::string printable(std::string_view text, Newlines newlines = Newlines::escaped);

}  // namespace ziggurat
