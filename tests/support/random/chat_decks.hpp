/// Random decks that train on conversations, and the files that they name.
#pragma once

#include <cstdint>
#include <string>

namespace ziggurat::test {

/// Writes chats.jsonl, chats.samples, and a tokenizer with a chat template in the folder tokenizer.
///
/// The ids of tokens are smaller than 259.
void write_conversations(const std::string& folder);

/// Returns the deck with conversations of `folder` instead of its sources.
///
/// data.seq is that of the deck, another number, missing, auto, or not a number.
std::string with_conversations(const std::string& text, std::uint64_t seed, const std::string& folder);

}  // namespace ziggurat::test
