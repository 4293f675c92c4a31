/// Keywords of the settings of sources, as in decks and command lines.
#pragma once

#include <optional>
#include <string_view>

#include "spec/run_spec.hpp"

namespace ziggurat::spec {

/// Returns `text`, `llmc`, `megatron`, `raw`, `own` or `chat`.
const char* word_of(TokenFormat format);
/// Returns the format of a keyword; nullopt if it is unknown.
std::optional<TokenFormat> token_format_of(std::string_view keyword);

/// Returns `uint16` or `uint32`.
const char* word_of(RawType type);
/// Returns the type of a keyword; nullopt if it is unknown.
std::optional<RawType> raw_type_of(std::string_view keyword);

/// Returns `assistant`, `completion` or `all`.
const char* word_of(LossOn loss_on);
std::optional<LossOn> loss_on_of(std::string_view keyword);

/// Returns true if a source of training or validation has conversations.
bool has_conversations(const Data& data);

/// Returns `none`, `wrapped` or `best_fit`.
const char* word_of(SamplePacking packing);
std::optional<SamplePacking> packing_of(std::string_view keyword);

/// Returns `cut`, `drop` or `refuse`.
const char* word_of(LongSamples rule);
std::optional<LongSamples> long_samples_of(std::string_view keyword);

}  // namespace ziggurat::spec
