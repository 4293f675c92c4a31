/// Alphabet of byte-level vocabularies: a printable character for each byte.
///
/// Source: GPT-2, src/encoder.py, bytes_to_unicode(): `!` to `~`, U+00A1 to U+00AC and U+00AE to U+00FF
///         represent themselves; the other 68 bytes, in order, are U+0100 to U+0143.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace ziggurat::data {

/// Returns the character of a byte, in UTF-8.
std::string letter_of(unsigned char byte);

/// Returns the bytes that valid UTF-8 spells; empty if a character is not in the alphabet.
std::optional<std::string> spelled_bytes(std::string_view text);

}  // namespace ziggurat::data
