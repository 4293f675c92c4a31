/// Escapes of JSON that YAML does not have: decks may be written as JSON, which YAML all but includes.
#pragma once

#include <string>
#include <string_view>

namespace ziggurat::deck {

/// `text` with characters beyond 16 bits, which JSON writes as two escapes of UTF-16, as one escape of YAML.
std::string join_surrogates(std::string_view text);

}  // namespace ziggurat::deck
