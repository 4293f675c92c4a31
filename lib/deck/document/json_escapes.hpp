/// JSON escapes that YAML lacks. Decks may be written in JSON, which YAML includes except for these.
#pragma once

#include <string>
#include <string_view>

namespace ziggurat::deck {

/// Replaces surrogate pairs, the JSON escapes for characters beyond 16 bits, by single YAML escapes.
std::string join_surrogates(std::string_view text);

}  // namespace ziggurat::deck
