/// Words of token formats and of the numbers in raw files, as decks and command lines have them.
#pragma once

#include <optional>
#include <string_view>

#include "spec/run_spec.hpp"

namespace ziggurat::spec {

/// `text`, `llmc`, `megatron`, `raw`, `own`.
const char* word_of(TokenFormat format);
/// The format of that word; nothing when there is none.
std::optional<TokenFormat> token_format_of(std::string_view word);

/// `uint16`, `uint32`.
const char* word_of(RawType type);
/// The type of that word; nothing when there is none.
std::optional<RawType> raw_type_of(std::string_view word);

}  // namespace ziggurat::spec
