/// Keywords of token formats and of raw number types, as in decks and command lines.
#pragma once

#include <optional>
#include <string_view>

#include "spec/run_spec.hpp"

namespace ziggurat::spec {

/// Returns `text`, `llmc`, `megatron`, `raw` or `own`.
const char* word_of(TokenFormat format);
/// Returns the format of a keyword; nullopt if it is unknown.
std::optional<TokenFormat> token_format_of(std::string_view keyword);

/// Returns `uint16` or `uint32`.
const char* word_of(RawType type);
/// Returns the type of a keyword; nullopt if it is unknown.
std::optional<RawType> raw_type_of(std::string_view keyword);

}  // namespace ziggurat::spec
